#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace evener {
namespace {

TEST(Utf8, ValidTextStays) {
  for (const char* text : {"", "bream", "Brasse \xC3\xA4\xE2\x82\xAC\xF0\x9F\x90\x9F"}) {
    EXPECT_EQ(to_utf8_text(text), text);
    EXPECT_EQ(from_utf8_text(text), text);
  }
}

TEST(Utf8, OtherBytesBecomeCharactersOfTheirOwn) {
  EXPECT_EQ(to_utf8_text("a\xE4z"), "a\xEF\x9F\xA4z");  // U+F7E4
  EXPECT_EQ(to_utf8_text("\x80"), "\xEF\x9E\x80");      // U+F780
}

TEST(Utf8, EveryByteComesBack) {
  std::string bytes;
  for (int first = 0; first < 256; ++first) {
    for (const int second : {0x00, 0x41, 0x80, 0xBF, 0xC3, 0xED, 0xEF, 0xFF}) {
      bytes += {static_cast<char>(first), static_cast<char>(second), '\xA0'};
    }
  }
  bytes += "\xEF\x9F\xA4 looks escaped already, \xED\xA0\x80 is a surrogate, \xC0\xAF is too long, \xF0\x9F is cut";
  const std::string text = to_utf8_text(bytes);
  EXPECT_EQ(from_utf8_text(text), bytes);
  EXPECT_EQ(to_utf8_text(text).size() > text.size(), true);  // what was escaped is escaped again, not lost
}

TEST(Utf8, TextsOfOtherEditorsBecomeUtf8WithoutAMark) {
  const std::string plain = "n\xC3\xA9 \xE2\x82\xAC\xF0\x9F\x90\x9F\n";
  EXPECT_EQ(text_without_byte_order_mark(plain), plain);
  EXPECT_EQ(text_without_byte_order_mark("\xEF\xBB\xBF" + plain), plain);
  const std::u16string units = u"n\u00E9 \u20AC\U0001F41F\n";
  std::string little, big;
  for (const char16_t unit : units) {
    const auto high = static_cast<char>(unit >> 8), low = static_cast<char>(unit & 0xFF);
    little += {low, high};
    big += {high, low};
  }
  EXPECT_EQ(text_without_byte_order_mark("\xFF\xFE" + little), plain);
  EXPECT_EQ(text_without_byte_order_mark("\xFE\xFF" + big), plain);
  EXPECT_EQ(text_without_byte_order_mark(little), plain) << "without a mark";
  EXPECT_EQ(text_without_byte_order_mark(big), plain);
  EXPECT_EQ(text_without_byte_order_mark(std::string("\xFF\xFE\x20\xD8\x41", 5)), "\xEF\xBF\xBD\xEF\xBF\xBD") << "cut";
  EXPECT_THROW(text_without_byte_order_mark(std::string("\xFF\xFE\0\0a\0\0\0", 8)), Error);
  for (const char* text : {"", "a"}) EXPECT_EQ(text_without_byte_order_mark(text), text);
}

}  // namespace
}  // namespace evener
