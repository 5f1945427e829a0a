// Writes a list of structs that have describe() (base/described.h) as CSV, a row for each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/described.h"

namespace evener::record {

/// A visitor for describe() that collects the cells of one row: a column's name and its text, empty if unknown.
class CsvRow : public PlainVisitor<CsvRow> {
 public:
  struct Column {
    std::string name, cell;
    bool if_known = false;  // shown only if some row has a value
  };

  template <typename T>
  void value(const char* key, const T& member) {
    columns_.push_back({key, cell_of(member)});
  }
  /// A map of numbers: each name that any row has becomes a column.
  void value(const char* /*key*/, const std::map<std::string, double>& members) {
    map_at_ = columns_.size();
    for (const auto& [name, number] : members) named_[name] = cell_of(number);
  }
  template <typename T>
  void column_if_known(const char* key, const T& member) {
    columns_.push_back({key, cell_of(member), true});
  }
  template <typename Members>
  void outside_tables(Members /*members*/) {}

  /// Inserts the map's columns, one for each of `names`, at the map's place.
  void spread(const std::set<std::string>& names) {
    std::vector<Column> spread;
    for (const std::string& name : names) spread.push_back({name, named_[name]});
    columns_.insert(columns_.begin() + static_cast<std::ptrdiff_t>(map_at_), spread.begin(), spread.end());
  }

  const std::map<std::string, std::string>& named() const { return named_; }
  const std::vector<Column>& columns() const { return columns_; }

 private:
  /// The shortest text that reads back as the same number.
  static std::string cell_of(double number);
  static std::string cell_of(int number) { return std::to_string(number); }
  template <typename T>
  static std::string cell_of(const std::optional<T>& value) {
    return value ? cell_of(*value) : "";
  }

  std::vector<Column> columns_;
  std::map<std::string, std::string> named_;  // cells of the map, by name
  std::size_t map_at_ = 0;                    // index of the column that follows the map
};

/// The header and the rows, each ended by '\n'.
template <typename T>
std::string described_csv(const std::vector<T>& structs) {
  std::vector<CsvRow> rows(structs.size() + 1);  // the last is of a default struct, for the header
  for (std::size_t i = 0; i < structs.size(); ++i) describe(rows[i], structs[i]);
  const T nothing{};
  describe(rows.back(), nothing);
  std::set<std::string> names;
  for (const CsvRow& row : rows) {
    for (const auto& [name, cell] : row.named()) names.insert(name);
  }
  for (CsvRow& row : rows) row.spread(names);
  std::vector<std::size_t> shown;
  for (std::size_t c = 0; c < rows.back().columns().size(); ++c) {
    const auto is_known = [c](const CsvRow& row) { return !row.columns()[c].cell.empty(); };
    if (!rows.back().columns()[c].if_known || std::any_of(rows.begin(), rows.end(), is_known)) shown.push_back(c);
  }
  const auto line = [&shown](const CsvRow& row, std::string CsvRow::Column::*text) {
    std::string cells;
    for (const std::size_t c : shown) cells += (c == shown.front() ? "" : ",") + row.columns()[c].*text;
    return cells + "\n";
  };
  std::string text = line(rows.back(), &CsvRow::Column::name);
  for (std::size_t i = 0; i < structs.size(); ++i) text += line(rows[i], &CsvRow::Column::cell);
  return text;
}

}  // namespace evener::record
