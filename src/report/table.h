// Tables of runs for a terminal, as Markdown and as CSV. Missing values are '-' (empty in CSV), never 0.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/run.h"

namespace evener::report {

struct Column {
  std::string title;  // with its unit
  bool numeric = false;
};
struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // one per run
  std::vector<std::string> notes;              // below the table: why values are missing, why a run is INVALID
};

/// A table with a row per run. If several runs do the same work, a column has the speedup over the first of them.
Table summary_table(std::span<const Run> runs);

/// The table aligned for a terminal. For one run, or if the table is wider than `width`, it has a line per value and a
/// column per run instead.
std::string terminal_text(const Table& table, std::size_t width = 160);
std::string markdown_text(const Table& table);
/// CSV for other programs: full precision, a row per run, SI units in the header.
std::string csv_text(std::span<const Run> runs);

}  // namespace evener::report
