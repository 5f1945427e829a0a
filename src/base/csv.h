// Tables as text, a row on each line, with commas between the cells (RFC 4180 but for line breaks inside of cells).
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace evener {

/// `text` as a cell: UTF-8 (utf8.h), quoted where commas, quotes or line breaks are in it.
std::string csv_cell(std::string_view text);
/// A row with its line's end.
std::string csv_line(const std::vector<std::string>& cells);

/// Splits a line into its cells. Quoted cells may contain separators, and a doubled quote in them stands for one; a
/// '\r' at the line's end is left out. Each character of `separators` separates cells.
std::vector<std::string> csv_cells(std::string_view line, std::string_view separators = ",");

/// Reads a table whose first line is its heading; `lines` outlives it.
class CsvReader {
 public:
  explicit CsvReader(std::istream& lines);

  const std::vector<std::string>& titles() const { return titles_; }
  std::optional<std::size_t> find_column(std::string_view title) const;

  /// Goes to the next line that isn't blank; false at the end.
  bool next();
  const std::vector<std::string>& cells() const { return cells_; }
  /// The cell of a column; "" where the row is too short.
  const std::string& cell(std::size_t column) const;
  /// The number of the current line, from 1 as editors count.
  std::size_t line() const { return line_; }

 private:
  std::istream& lines_;
  std::string text_;
  std::vector<std::string> titles_, cells_;
  std::size_t line_ = 0;
};

/// Writes a CSV file row by row. A file of that name is replaced.
class CsvWriter {
 public:
  /// `heading`: the first line. Throws OutputError where the file can't be written, as add() does.
  CsvWriter(std::filesystem::path path, std::string_view heading);

  /// Appends whole lines. They are written through to the operating system, so a killed process loses none.
  void add(std::string_view lines);

 private:
  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace evener
