#include "report/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/terminal_text.h"
#include "base/utf8.h"

namespace evener::report {
namespace {

TEST(Format, NumbersHaveThreeDigitsAndNoExponent) {
  EXPECT_EQ(number_text(26.94), "26.9");
  EXPECT_EQ(number_text(1.846), "1.85");
  EXPECT_EQ(number_text(0.01234), "0.0123");
  EXPECT_EQ(number_text(523), "523");
  EXPECT_EQ(number_text(52345), "52,300");
  EXPECT_EQ(number_text(1234567), "1,230,000");
  EXPECT_EQ(number_text(-5234), "-5,230");
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(std::nan("")), "-");
}

TEST(Format, PercentsOrADash) {
  EXPECT_EQ(percent_text(0.972), "97.2 %");
  EXPECT_EQ(percent_text(std::optional<double>()), "-");
}

TEST(Format, HtmlIsHarmless) {
  EXPECT_EQ(escape_html("<b onclick='x'>\"&\x01"), "&lt;b onclick=&#39;x&#39;&gt;&quot;&amp;");
}

TEST(Format, JsonCantEndAScriptElement) {
  EXPECT_EQ(escape_json_for_script("{\"a\":\"</script><!-- & \xe2\x80\xa8\"}"),
            "{\"a\":\"\\u003c/script\\u003e\\u003c!-- \\u0026 \\u2028\"}");
}

TEST(Format, CsvIsQuotedWhereNeeded) {
  EXPECT_EQ(csv_cell("plain"), "plain");
  const std::string name = "caf\xe9, b\"r", told = to_utf8_text(name);
  EXPECT_EQ(csv_cell(name), "\"caf\xEF\x9F\xA9, b\"\"r\"");
  EXPECT_EQ(csv_cell(told), csv_cell(name)) << "once";
  EXPECT_EQ(escape_html("caf\xe9"), "caf\xEF\x9F\xA9");
  EXPECT_EQ(escape_markdown("caf\xe9"), "caf\xEF\x9F\xA9");
  EXPECT_EQ(csv_cell("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_cell("say \"hi\""), "\"say \"\"hi\"\"\"");
}

TEST(Format, MarkdownCantBreakATable) {
  EXPECT_EQ(escape_markdown("a|b\n<i>"), "a\\|b \\<i\\>");
  EXPECT_EQ(escape_markdown("\x1b[2J"), "?\\[2J");
}

TEST(Format, TerminalsObeyNothing) {
  EXPECT_EQ(one_line("a\x1b[31mred\n"), "a?[31mred?");
  EXPECT_EQ(one_line("a\xc2\x9b"
                     "31m \xc2\x80\xc2\x9f"),
            "a?31m ??");
  EXPECT_EQ(one_line("\u00a0größer \u0400 \xc2"), "\u00a0größer \u0400 \xc2");
  EXPECT_EQ(display_width("größer"), 6u);
}

TEST(Format, ListsTheFirstOfMany) {
  EXPECT_EQ(listed({"a", "b", "c"}, 3), "a, b and c");
  EXPECT_EQ(listed({"a", "b", "c", "d"}, 2), "a, b and 2 more");
  EXPECT_EQ(listed({"a", "b"}, 1), "a and 1 more");
}

}  // namespace
}  // namespace evener::report
