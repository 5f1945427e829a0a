// The comparison of runs as a table: for a terminal, as Markdown, as CSV. Missing values are '-' (empty in CSV), never
// 0.
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

/// One row per run; where several do the same work there is a column with the speed against the first of them.
Table summary_table(std::span<const Run> runs);

/// Aligned for a terminal; one run stands upright, a line per value, and more than fit into `width` too.
std::string terminal_text(const Table& table, std::size_t width = 160);
std::string markdown_text(const Table& table);
/// Full precision, one row per run, SI units in the header; made for other programs.
std::string csv_text(std::span<const Run> runs);

}  // namespace evener::report
