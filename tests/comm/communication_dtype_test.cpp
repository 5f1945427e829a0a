// What float32 values become on their way as bfloat16.
#include "comm/communication_dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace evener::comm {
namespace {

TEST(CommunicationDtype, ValuesAreRoundedToTheNearestBfloat16AndTiesToTheEvenOne) {
  struct Case {
    std::uint32_t from;
    std::uint16_t to;
  };
  for (const Case& one : {Case{0x3f800000, 0x3f80}, Case{0x3f807fff, 0x3f80}, Case{0x3f808000, 0x3f80},
                          Case{0x3f808001, 0x3f81}, Case{0x3f818000, 0x3f82}, Case{0x3f817fff, 0x3f81},
                          Case{0xbf808000, 0xbf80}, Case{0xbf818000, 0xbf82}, Case{0x7f7f8000, 0x7f80}}) {
    EXPECT_EQ(narrowed(std::bit_cast<float>(one.from)).bits, one.to) << one.from;
  }
  for (const std::uint32_t nan : {0x7fffffffU, 0xffffffffU, 0x7f800001U}) {
    EXPECT_TRUE(std::isnan(widened(narrowed(std::bit_cast<float>(nan))))) << nan;
  }
}

}  // namespace
}  // namespace evener::comm
