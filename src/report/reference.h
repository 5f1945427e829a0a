// Figures that were measured elsewhere, such as a document's table, held against a sweep's cells. Times of another
// machine say nothing about ours: they are shown as foreign. Ratios (speedups) and shares (accuracies) are compared.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "record/statistics.h"
#include "report/table.h"

namespace evener::report {

struct Sweep;

/// A line of a reference file: CSV whose first line names the columns. `cell`, `figure` and `value` have to be there.
struct ReferenceFigure {
  std::string cell, figure;                     // as their source calls them
  double value = 0;                             // in `unit`
  std::string unit;                             // "s", "%", ...; "" with `against`: a ratio
  std::map<std::string, std::string> measured;  // "on=cpu/t4;engine=native": the sweep's cell; empty: none is like it
  std::string metric;                           // that cell's figure: "images_per_s"
  std::string against;                          // `cell` of another line, by which values are divided
  std::string machine, source;
};

/// Of a speedup more is better; other ratios are plain quotients of the two figures.
bool is_speedup(const ReferenceFigure& figure);

/// Throws Error naming file and line.
std::vector<ReferenceFigure> read_reference(const std::filesystem::path& path);

/// A reference figure beside what the sweep measured.
struct ReferenceRow {
  ReferenceFigure figure;
  std::string here;                            // name of the sweep's cell; "" without one
  std::string measured;                        // its figure with its unit; "" where there is none
  std::optional<double> published_to_compare;  // a ratio or a share
  std::optional<double> measured_to_compare;
  std::optional<record::Interval> interval;  // of that, 95 %
  bool is_invalid = false;                   // what it was measured by is
  std::string verdict;                       // "as published", "higher", "lower", or why nothing is said

  bool is_share() const { return figure.unit == "%"; }
};
std::vector<ReferenceRow> hold_against(const std::vector<ReferenceFigure>& reference, const Sweep& sweep);

/// A row for each.
Table reference_table(std::span<const ReferenceRow> rows);
/// What of it can be compared came to, in a sentence; "" where nothing can.
std::string reference_sentence(std::span<const ReferenceRow> rows);
/// What can be compared, for plots: a list of objects.
nlohmann::ordered_json reference_plot_data(std::span<const ReferenceRow> rows);

}  // namespace evener::report
