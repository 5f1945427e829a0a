// Parses cells of the CSV files that loggers write, whose number and time formats depend on country and spreadsheet.
// Inside sensors/ only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace evener::measure {

/// The separator of a line's cells: a tab or a semicolon if there is one outside of quotes, else a comma.
char csv_separator(std::string_view line);
/// The cells of a line, with blanks around them removed.
std::vector<std::string> trimmed_cells(std::string_view line, char separator);

/// The decimal mark of a column, as far as its rows have shown it.
enum class DecimalMark { kUnknown, kPoint, kComma };

/// Parses a number with a decimal point or comma; thousands may be separated by the other mark, blanks or apostrophes.
/// An ambiguous number ("1,234") is read with `mark`, the decimal mark of the column's earlier rows; an unambiguous one
/// sets `mark`. Throws Error with the reason alone.
double csv_number(const std::string& cell, DecimalMark& mark);

/// Removes a unit after the number from `cell` and returns it; "" = there is none.
std::string take_unit_off(std::string& cell);

/// Parses a time to seconds since 1970: a number of seconds or (if that large) milliseconds, "2026-11-24T22:12:22.5Z",
/// "2026/11/24 22:12:22" or "24.11.2026 22:12:22". Time zones don't matter, as the meter measures the offset of its
/// clock. Absent if it is none of these.
std::optional<double> csv_time(const std::string& cell);

}  // namespace evener::measure
