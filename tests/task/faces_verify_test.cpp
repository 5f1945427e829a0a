// Rates of right and wrong answers, on pairs whose rates a pencil gives.
#include <gmock/gmock.h>

#include "base/error.h"
#include "task/faces/verify.h"

namespace evener::task {
namespace {

TEST(Verify, PairsThatAreApartAreAllRight) {
  std::vector<JudgedPair> pairs;
  for (int i = 0; i < 100; ++i) pairs.push_back({0.5 + i * 0.001, true});
  for (int i = 0; i < 100; ++i) pairs.push_back({1.2 + i * 0.001, false});
  const Verification found = verify(pairs);
  EXPECT_EQ(found.same, 100U);
  EXPECT_EQ(found.accuracy, 1);
  EXPECT_EQ(found.equal_error_rate, 0);
  EXPECT_NEAR(found.equal_error_distance, 0.599, 1e-9);
  EXPECT_EQ(found.accepted_at_1_percent, 1);
  EXPECT_FALSE(found.accepted_at_01_percent) << "of 100 no thousandth can be told";
}

TEST(Verify, RatesAreSharesOfEachKind) {
  // Of 10 of the same one lies at 1.5; of 100 different ten lie at 0.5, below all of the same but one at 0.4.
  std::vector<JudgedPair> pairs = {{1.5, true}, {0.4, true}};
  for (int i = 0; i < 8; ++i) pairs.push_back({0.8, true});
  for (int i = 0; i < 10; ++i) pairs.push_back({0.5, false});
  for (int i = 0; i < 90; ++i) pairs.push_back({1.2, false});
  const Verification found = verify(pairs);
  EXPECT_DOUBLE_EQ(found.equal_error_rate, 0.1) << "at 0.8: a tenth of each kind";
  EXPECT_DOUBLE_EQ(found.equal_error_distance, 0.8);
  EXPECT_DOUBLE_EQ(found.accepted_at_1_percent.value(), 0.1) << "at 0.4, before the ten";
  EXPECT_NEAR(found.accuracy, 10.0 / 11, 1e-9)
      << "refusing nearly all is right most often, with so many different ones";
}

TEST(Verify, JustAHundredthIsWithinIt) {
  // Of 100 different ones one lies at 0.3 and the next at 0.5; of the same four are nearer than the second.
  std::vector<JudgedPair> pairs = {{0.2, true}, {0.4, true}, {0.4, true}, {0.45, true}, {0.6, true}, {0.3, false}};
  for (int i = 0; i < 99; ++i) pairs.push_back({0.5 + i * 0.001, false});
  EXPECT_DOUBLE_EQ(verify(pairs).accepted_at_1_percent.value(), 0.8);
}

TEST(Verify, TheCurveGoesFromNothingToAllThroughTheRatesOfEachLimit) {
  const Verification found = verify({{0.1, true}, {0.3, true}, {0.2, false}, {0.4, false}});
  std::vector<std::pair<double, double>> curve;
  for (const AcceptedShares& point : found.curve) curve.emplace_back(point.different, point.same);
  using Point = std::pair<double, double>;
  EXPECT_THAT(curve, testing::ElementsAre(Point(0, 0), Point(0, 0.5), Point(0.5, 0.5), Point(0.5, 1), Point(1, 1)));
  std::vector<JudgedPair> many;
  for (int i = 0; i < 20000; ++i) many.push_back({i * 1e-4, i % 2 == 0});
  EXPECT_LT(verify(many).curve.size(), 500U);
  EXPECT_EQ(verify(many).curve.back().same, 1);
}

TEST(Verify, FewPairsAreRefused) {
  EXPECT_THROW(verify({}), Error);
  EXPECT_THROW(verify({{0.1, true}, {0.2, true}, {0.3, false}}), Error);
  EXPECT_EQ(verify({{0.1, true}, {0.2, true}, {0.9, false}, {0.8, false}}).accuracy, 1);
}

TEST(Verify, TheLimitLiesInTheMiddleOfTheGap) {
  // Each pair is tried with the limit that the others give: that of 0.1 and 0.9 tells 0.3 rightly, 0.1 itself doesn't.
  EXPECT_EQ(verify({{0.3, true}, {0.1, true}, {0.9, false}, {0.9, false}}).accuracy, 1);
}

}  // namespace
}  // namespace evener::task
