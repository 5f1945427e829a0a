#include "measure/peaks.h"

#include <gtest/gtest.h>

namespace evener::measure {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20, kGiB = kMiB << 10;

TEST(Peaks, ReadsNoMoreThanAQuarterOfTheMemory) {
  EXPECT_EQ(read_by_each_bytes(1, 64 * kGiB), 128 * kMiB);
  EXPECT_EQ(read_by_each_bytes(128, 64 * kGiB), 128 * kMiB);
  EXPECT_EQ(read_by_each_bytes(128, 4 * kGiB), 8 * kMiB);
  EXPECT_EQ(read_by_each_bytes(3, kGiB), kGiB / 12 / 64 * 64);  // whole cache lines
  EXPECT_EQ(read_by_each_bytes(128, 0), kMiB);
}

}  // namespace
}  // namespace evener::measure
