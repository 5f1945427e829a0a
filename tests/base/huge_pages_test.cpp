#include <gtest/gtest.h>

#include "base/memory.h"

namespace evener {
namespace {

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
