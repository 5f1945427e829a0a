#include <gmock/gmock.h>

#include "engine/gradient_exchange.h"

namespace evener::engine {
namespace {

constexpr std::size_t kMiB = (std::size_t{1} << 20) / sizeof(float);  // values

std::vector<std::pair<std::size_t, std::size_t>> ranges(const std::vector<std::size_t>& sizes) {
  std::vector<std::pair<std::size_t, std::size_t>> result;
  for (const Bucket& bucket : make_buckets(sizes)) result.emplace_back(bucket.first, bucket.last);
  return result;
}

using testing::ElementsAre;
using testing::Pair;

TEST(Buckets, BeginWithTheLastParameters) {
  EXPECT_THAT(ranges({10, 20, 30}), ElementsAre(Pair(0, 2)));
  EXPECT_THAT(ranges({5 * kMiB, kMiB / 2, kMiB / 2}), ElementsAre(Pair(1, 2), Pair(0, 0)));
}

TEST(Buckets, AreSmallFirstAndLargeThen) {
  const std::vector<std::size_t> sizes(60, kMiB);
  EXPECT_THAT(ranges(sizes), ElementsAre(Pair(59, 59), Pair(34, 58), Pair(9, 33), Pair(0, 8)));
}

TEST(Buckets, AParameterLargerThanABucketHasOneOfItsOwn) {
  EXPECT_THAT(ranges({40 * kMiB, 100, 40 * kMiB}), ElementsAre(Pair(2, 2), Pair(1, 1), Pair(0, 0)));
}

TEST(Buckets, AreTakenInTheirOrderWhenTheyAreComplete) {
  BucketProgress progress({kMiB, kMiB, kMiB});  // one, and the other two
  for (int pass = 0; pass < 2; ++pass) {
    progress.begin();
    progress.ready(0);
    progress.ready(1);
    EXPECT_EQ(progress.take_complete(), nullptr);  // the first one is missing
    progress.ready(2);
    EXPECT_EQ(progress.take_complete(), &progress.buckets()[0]);
    EXPECT_EQ(progress.take_complete(), &progress.buckets()[1]);
    EXPECT_EQ(progress.take_complete(), nullptr);
    EXPECT_EQ(progress.take_next(), nullptr);
  }
  progress.begin();
  EXPECT_EQ(progress.take_next(), &progress.buckets()[0]);
}

}  // namespace
}  // namespace evener::engine
