#include "parallel/buckets.h"

#include <gmock/gmock.h>

namespace evener::parallel {
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

}  // namespace
}  // namespace evener::parallel
