// Cells of the CSV files that loggers write, in whatever way their countries and spreadsheets write numbers and times.
// Inside sensors/ only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace evener::measure {

/// What stands between the cells of a line: a tab or a semicolon where there is one outside of quotes, otherwise a
/// comma.
char csv_separator(std::string_view line);
/// The cells of a line, without blanks around them.
std::vector<std::string> trimmed_cells(std::string_view line, char separator);

/// How a column of numbers is written, as far as its rows have shown it.
enum class DecimalMark { kUnknown, kPoint, kComma };

/// A number with a decimal point or comma, with or without thousands set apart by the other one, blanks or apostrophes.
/// One that could be two numbers ("1,234") is read as the column's earlier rows are written, and `mark` learns from one
/// that couldn't. Throws Error with the reason alone.
double csv_number(const std::string& cell, DecimalMark& mark);

/// The cell without a unit behind its number, which is told; "" = it has none.
std::string take_unit_off(std::string& cell);

/// Seconds since 1970, or milliseconds (for numbers so large), "2026-11-24T22:12:22.5Z", "2026/11/24 22:12:22", or
/// "24.11.2026 22:12:22"; zones only move the offset, which is measured. Absent: none of these.
std::optional<double> csv_time(const std::string& cell);

}  // namespace evener::measure
