#include "base/numbers.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace evener {
namespace {

TEST(Numbers, AreTheWholeText) {
  EXPECT_EQ(to_number<int>("-12"), -12);
  EXPECT_EQ(to_number<double>("2.5e-1"), 0.25);
  for (const char* none : {"", " 1", "1 ", "1x", "x", "+1", "1,5"}) {
    EXPECT_FALSE(to_number<int>(none)) << none;
    EXPECT_FALSE(to_number<double>(none)) << none;
  }
}

TEST(Numbers, FitOrAreNone) {
  EXPECT_EQ(to_number<std::uint8_t>("255"), 255);
  EXPECT_FALSE(to_number<std::uint8_t>("256"));
  EXPECT_FALSE(to_number<unsigned>("-1"));
  EXPECT_FALSE(to_number<double>("1e999"));
}

}  // namespace
}  // namespace evener
