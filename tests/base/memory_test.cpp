// This process's memory: how much it holds, and memory in huge pages.
#include "base/memory.h"

#include <gtest/gtest.h>

#include <vector>

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

bool begins_at(const void* memory, std::size_t unit) {
  return reinterpret_cast<std::uintptr_t>(memory) % unit == 0;
}

TEST(HugePages, LargeArraysBeginAtAPageAndSmallOnesAtACacheLine) {
  constexpr std::size_t kPage_bytes = std::size_t{2} << 20;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}, kPage_bytes - 1}) {
    EXPECT_TRUE(begins_at(PageBytes(bytes).data(), 64)) << bytes;
  }
  for (const std::size_t bytes : {kPage_bytes, kPage_bytes + 1, 3 * kPage_bytes}) {
    EXPECT_TRUE(begins_at(PageBytes(bytes).data(), kPage_bytes)) << bytes;
  }
}

TEST(HugePages, GrowingKeepsWhatWasThere) {
  PageBytes bytes = {1, 2, 3};
  bytes.resize(std::size_t{5} << 20, 7);
  EXPECT_EQ(bytes[2], 3);
  EXPECT_EQ(bytes.back(), 7);
}

}  // namespace
}  // namespace evener
