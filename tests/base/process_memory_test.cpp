// What this process takes, by taking more.
#include <gtest/gtest.h>

#include <vector>

#include "base/memory.h"

namespace evener {
namespace {

TEST(ProcessMemory, GrowsWithWhatIsTakenAndRemembersIt) {
  const ProcessMemory before = process_memory();
  ASSERT_GT(before.resident_bytes, 1U << 20);
  EXPECT_GE(before.peak_bytes, before.resident_bytes);
  constexpr std::size_t kMore = std::size_t{64} << 20;  // the kernel may drop pages of files that are mapped meanwhile
  {
    const std::vector<char> more(kMore, 1);
    EXPECT_GE(process_memory().resident_bytes, before.resident_bytes + kMore / 2) << more.back();
  }
  EXPECT_GE(process_memory().peak_bytes, before.resident_bytes + kMore / 2);
}

}  // namespace
}  // namespace evener
