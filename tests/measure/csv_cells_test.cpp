// Cells of loggers' files, one rule a row: each kind of number, time, unit and separator, on both sides of its bounds.
#include "measure/sensors/csv_cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace evener::measure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr DecimalMark kNone = DecimalMark::kUnknown, kPoint = DecimalMark::kPoint, kComma = DecimalMark::kComma;

struct NumberRow {
  const char* cell;
  DecimalMark before;
  double number;
  DecimalMark after;
};

TEST(CsvNumber, IsReadAsItsColumnIsWrittenAndTeachesIt) {
  const NumberRow rows[] = {
      {"42", kNone, 42, kNone},
      {"42", kComma, 42, kComma},
      {"61.5", kNone, 61.5, kPoint},
      {"60,5", kNone, 60.5, kComma},
      {"-60,5", kNone, -60.5, kComma},
      {"60,5", kComma, 60.5, kComma},
      {"1.234", kNone, 1.234, kNone},  // a point is more often a decimal one
      {"1.234", kPoint, 1.234, kPoint},
      {"1.234", kComma, 1234, kComma},
      {"-1.234", kComma, -1234, kComma},
      {"1,234", kComma, 1.234, kComma},
      {"1,234", kPoint, 1234, kPoint},
      {"12.345", kComma, 12345, kComma},
      {"123.456", kComma, 123456, kComma},
      {"1234.567", kNone, 1234.567, kPoint},  // four digits are no group
      {"1234,567", kNone, 1234.567, kComma},
      {"1.2345", kNone, 1.2345, kPoint},
      {".500", kNone, 0.5, kPoint},
      {"1,234,567", kNone, 1234567, kPoint},
      {"-1,234,567", kNone, -1234567, kPoint},
      {"1.234.567", kNone, 1234567, kComma},
      {"1,234.50", kNone, 1234.5, kPoint},
      {"1.234,50", kNone, 1234.5, kComma},
      {"-1,234.5", kNone, -1234.5, kPoint},
      {"1.234.567,25", kNone, 1234567.25, kComma},
      {"1,234.567", kComma, 1234.567, kPoint},
      {"1 234", kNone, 1234, kNone},
      {"1 234,5", kNone, 1234.5, kComma},
      {"1 234.5", kNone, 1234.5, kPoint},
      {"-1 234.5", kNone, -1234.5, kPoint},
      {"12 345 678", kComma, 12345678, kComma},
      {"1\u00A0234,5", kNone, 1234.5, kComma},
      {"1\u202F234\u202F567", kNone, 1234567, kNone},
      {"1\u2009234.5", kNone, 1234.5, kPoint},
      {"1'234.5", kNone, 1234.5, kPoint},
      {"1\u2019234\u2019567.5", kNone, 1234567.5, kPoint},
      {"6.15e1", kNone, 61.5, kNone},
      {"1.500E3", kComma, 1500, kComma},
      {"5e2", kNone, 500, kNone},
  };
  for (const NumberRow& row : rows) {
    DecimalMark mark = row.before;
    EXPECT_DOUBLE_EQ(csv_number(row.cell, mark), row.number) << row.cell;
    EXPECT_EQ(mark, row.after) << row.cell;
  }
}

std::string why_no_number(const std::string& cell, DecimalMark mark = kNone) {
  try {
    return "it is " + std::to_string(csv_number(cell, mark));
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(CsvNumber, SaysWhyACellIsNone) {
  for (const char* wrong : {"", "much", "12,34,567", "1.2.3", "1234,567,890", "12 34", "1234 567", "1 234,5,6",
                            "12,34.5", "1.234.5,6,7", "1,2.3.4", "6,15e1", "1 23", "1,23,456.5", "--5"}) {
    EXPECT_THAT(why_no_number(wrong), HasSubstr("is no number")) << wrong;
  }
  EXPECT_THAT(why_no_number("1,234"), HasSubstr("may be 1234 or 1.234"));
  EXPECT_THAT(why_no_number("-1,234"), HasSubstr("may be -1234 or -1.234"));
  EXPECT_THAT(why_no_number("60,5", kPoint), HasSubstr("otherwise than the rows before"));
  EXPECT_THAT(why_no_number("60.5", kComma), HasSubstr("otherwise than the rows before"));
}

TEST(CsvTime, IsSecondsMillisecondsOrADateWithATime) {
  constexpr double kEvening_s = 1795558342;  // 2026-11-24T22:12:22Z, by date(1)
  const std::pair<const char*, double> rows[] = {
      {"1764171600", 1764171600},
      {"1764171600.5", 1764171600.5},
      {"1764171600,125", 1764171600.125},
      {"1764171600500", 1764171600.5},
      {"100000000000", 1e11},  // the greatest number of seconds
      {"100000000500", 100000000.5},
      {"-5", -5},
      {"2026-11-24T22:12:22Z", kEvening_s},
      {"2026-11-24 22:12:22", kEvening_s},
      {"2026/11/24 22:12:22", kEvening_s},
      {"24.11.2026 22:12:22", kEvening_s},
      {"24.11.2026, 22:12:22", kEvening_s},
      {"2026-11-24T22:12:22.75Z", kEvening_s + 0.75},
      {"24.11.2026 22:12:22,25", kEvening_s + 0.25},
      {"2026-11-24T22:12:22.5+01:00", kEvening_s + 0.5},  // zones move the offset, which is measured
      {"2026-11-24T22:12:22.125 CET", kEvening_s + 0.125},
      {"1970-01-01T00:00:01", 1},
  };
  for (const auto& [cell, time_s] : rows) {
    ASSERT_TRUE(csv_time(cell).has_value()) << cell;
    EXPECT_DOUBLE_EQ(*csv_time(cell), time_s) << cell;
  }
  for (const char* wrong : {"", "1,764,171", "1,764.5", "2026-11-24", "2026-11-24T22:12", "2026-11-24_22:12:22",
                            "24.11.26 22:12:22", "11/24/2026 22:12:22", "2026-11-24 10:12:22 PM",
                            "2026-11-24 10:12:22.5 pm", "2026-11-24 10:12:22 am", "1969-12-31T23:59:59", "22:12:22"}) {
    EXPECT_EQ(csv_time(wrong), std::nullopt) << wrong;
  }
}

TEST(CsvUnit, IsTakenOffBehindTheNumber) {
  const std::array<const char*, 3> rows[] = {
      {"61.5 W", "61.5", "W"}, {"0.0615kW", "0.0615", "kW"}, {"5  kWh", "5", "kWh"}, {"61.5", "61.5", ""},
      {"61.", "61.", ""},      {"61,", "61,", ""},           {"W", "W", ""},         {"", "", ""},
  };
  for (const auto& [cell, rest, unit] : rows) {
    std::string left = cell;
    EXPECT_EQ(take_unit_off(left), unit) << cell;
    EXPECT_EQ(left, rest) << cell;
  }
}

TEST(CsvLine, IsCutWhereItsSeparatorStandsOutsideOfQuotes) {
  const std::pair<const char*, char> separators[] = {
      {"time,power", ','}, {"time;power", ';'}, {"time\tpower", '\t'},
      {"a;b\tc", '\t'},    {"a,b;c", ';'},      {"\"a;b\",c", ','},
      {"\"a\tb\";c", ';'}, {"", ','},           {"\"a\",\"b;\",\"c\td\"", ','},
      {"\"a;b\";c", ';'},
  };
  for (const auto& [line, separator] : separators) EXPECT_EQ(csv_separator(line), separator) << line;
  EXPECT_THAT(trimmed_cells("a, b ,\"c,d\" ,", ','), ElementsAre("a", "b", "c,d", ""));
  EXPECT_THAT(trimmed_cells("a,b;\" x \";\"\"", ';'), ElementsAre("a,b", "x", ""));
  EXPECT_THAT(trimmed_cells("", ','), ElementsAre(""));
  EXPECT_THAT(trimmed_cells("61.5;\"", ';'), ElementsAre("61.5", ""));
  EXPECT_THAT(trimmed_cells("1\t2\r", '\t'), ElementsAre("1", "2"));
}

}  // namespace
}  // namespace evener::measure
