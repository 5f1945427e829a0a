// The numbers themselves are the contract: they were computed by a separate implementation of the header's formula.
#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"

namespace evener {
namespace {

TEST(Random, FollowsTheFormulaOfTheHeader) {
  Random random(7, Purpose::kOrder, 3, 4);
  EXPECT_EQ(random.next(), 0x7f7e77621e87a0fbULL);
  EXPECT_EQ(random.next(), 0x99672f89eeaffaddULL);
  EXPECT_EQ(random.next(), 0xc2772b1bfaed9696ULL);
}

TEST(Random, DerivedDrawsFollowTheirFormulas) {
  Random random(1, Purpose::kInit);
  EXPECT_DOUBLE_EQ(random.uniform(), 0.11000000389033326);
  EXPECT_NEAR(random.normal(), 0.8759586499680478, 1e-14);
  EXPECT_EQ(random.below(1000), 985U);
}

// Nearly half of all draws are rejected for this n: 3 of the first 9.
TEST(Random, BelowRejectsWhatWouldBiasTheRest) {
  Random random(11, Purpose::kOrder);
  for (const std::uint64_t expected : {4271619281135576129ULL, 904724442369187877ULL, 7180864154965822203ULL,
                                       1985913098242960197ULL, 1747546896401768849ULL, 7460463613551457267ULL}) {
    EXPECT_EQ(random.below((1ULL << 63) + 1), expected);
  }
}

TEST(Random, EveryPartOfTheKeyMatters) {
  const std::set<std::uint64_t> firsts = {
      Random(1, Purpose::kSplit).next(),       Random(2, Purpose::kSplit).next(),
      Random(1, Purpose::kOrder).next(),       Random(1, Purpose::kSplit, 1).next(),
      Random(1, Purpose::kSplit, 0, 1).next(), Random(1, Purpose::kSplit, 1, 1).next(),
      Random(1, Purpose::kSplit, 2, 1).next(), Random(1, Purpose::kSplit, 1, 2).next()};
  EXPECT_EQ(firsts.size(), 8U);
}

TEST(Random, UniformAndNormalHaveTheirMoments) {
  Random random(11, Purpose::kBootstrap);
  constexpr int kDraws = 40000;
  double sum = 0, normal_sum = 0, normal_squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double u = random.uniform(2, 4);
    ASSERT_GE(u, 2);
    ASSERT_LT(u, 4);
    sum += u;
    const double x = random.normal();
    normal_sum += x;
    normal_squares += x * x;
  }
  // Five standard errors: 5 / sqrt(40000) = 0.025 times the standard deviation (sqrt(2) for the squares).
  EXPECT_NEAR(sum / kDraws, 3, 0.025 * 2 / std::sqrt(12));
  EXPECT_NEAR(normal_sum / kDraws, 0, 0.025);
  EXPECT_NEAR(normal_squares / kDraws, 1, 0.025 * std::sqrt(2));
}

TEST(Random, BelowZeroIsAnError) {
  EXPECT_THROW(Random(1, Purpose::kInit).below(0), Error);
}

TEST(Permutation, FollowsTheFormulaOfTheHeader) {
  const std::vector<std::uint32_t> expected = {4, 1, 6, 9, 0, 8, 3, 7, 2, 5};
  EXPECT_EQ(permutation(10, Random(5, Purpose::kOrder)), expected);
}

TEST(Permutation, HoldsEachNumberOnce) {
  auto order = permutation(1000, Random(5, Purpose::kOrder));
  std::sort(order.begin(), order.end());
  for (std::uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(order[i], i);
  EXPECT_TRUE(permutation(0, Random(5, Purpose::kOrder)).empty());
}

TEST(HashText, IsFnv1a) {
  EXPECT_EQ(hash_text(""), 0xcbf29ce484222325ULL);
  EXPECT_EQ(hash_text("a"), 0xaf63dc4c8601ec8cULL);
  EXPECT_EQ(hash_text("layer1.0.conv1.weight"), 0x721d90ca2264c0eaULL);
}

}  // namespace
}  // namespace evener
