// A table of structs of numbers that describe() shows (base/described.h), as CSV: a row for each.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/described.h"

namespace evener::record {

/// The cells of one row. A map of numbers has a column for each of its names, wherever any row has that.
class CsvRow : public PlainVisitor<CsvRow> {
 public:
  struct Column {
    std::string name;                                            // empty: those of a map
    std::string cell = {};                                       // empty: not known
    std::map<std::string, std::string, std::less<>> cells = {};  // of a map
  };

  template <typename T>
  void value(const char* key, const T& member) {
    columns_.push_back({key, cell_of(member)});
  }
  void value(const char* /*key*/, const std::map<std::string, double>& members) {
    Column& column = columns_.emplace_back();
    for (const auto& [name, number] : members) column.cells[name] = cell_of(number);
  }
  template <typename Members>
  void outside_tables(Members /*members*/) {}

  const std::vector<Column>& columns() const { return columns_; }

 private:
  /// As many digits as tell it from every other number.
  static std::string cell_of(double number);
  static std::string cell_of(int number) { return std::to_string(number); }
  template <typename T>
  static std::string cell_of(const std::optional<T>& value) {
    return value ? cell_of(*value) : "";
  }

  std::vector<Column> columns_;
};

/// The heading and the rows, each with its end of line.
template <typename T>
std::string described_csv(const std::vector<T>& structs) {
  std::vector<CsvRow> rows(structs.size());
  for (std::size_t i = 0; i < rows.size(); ++i) describe(rows[i], structs[i]);
  CsvRow heading;
  describe(heading, static_cast<const T&>(T()));
  std::set<std::string> names;  // of all maps of a struct together: it has one
  for (const CsvRow& row : rows) {
    for (const CsvRow::Column& column : row.columns()) {
      for (const auto& [name, cell] : column.cells) names.insert(name);
    }
  }
  const auto line = [&](const CsvRow& row, auto cell_of, auto named_cell) {
    std::string text;
    bool is_first = true;
    const auto add = [&](const std::string& cell) { text += (std::exchange(is_first, false) ? "" : ",") + cell; };
    for (const CsvRow::Column& column : row.columns()) {
      if (!column.name.empty()) add(cell_of(column));
      if (!column.name.empty()) continue;
      for (const std::string& name : names) add(named_cell(column, name));
    }
    return text + "\n";
  };
  std::string text = line(
      heading, [](const CsvRow::Column& column) { return column.name; },
      [](const CsvRow::Column&, const std::string& name) { return name; });
  for (const CsvRow& row : rows) {
    text += line(
        row, [](const CsvRow::Column& column) { return column.cell; },
        [](const CsvRow::Column& column, const std::string& name) {
          const auto found = column.cells.find(name);
          return found == column.cells.end() ? "" : found->second;
        });
  }
  return text;
}

}  // namespace evener::record
