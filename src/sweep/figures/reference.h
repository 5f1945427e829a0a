// Compares a sweep's cells with reference figures that were measured elsewhere, such as those of a paper's table.
// Absolute times of another machine are only shown; ratios (speedups) and shares (accuracies) are compared.
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

namespace evener::sweeps {

struct Sweep;

/// A row of a reference file: CSV with a header, in which the columns `cell`, `figure` and `value` are required.
struct ReferenceFigure {
  std::string cell, figure;                     // names in the source
  double value = 0;                             // in `unit`
  std::string unit;                             // "s", "%", ...; "" together with `against` = a ratio
  std::map<std::string, std::string> measured;  // the matching cell, "on=cpu/t4;engine=native"; empty = none
  std::string metric;                           // the figure of that cell: "images_per_s"
  std::string against;                          // `cell` of another row, by whose value this one is divided
  std::string machine, source;
};

/// Whether the ratio is a speedup, for which higher is better; other ratios are plain quotients.
bool is_speedup(const ReferenceFigure& figure);

/// Reads a reference file. Throws Error naming file and line.
std::vector<ReferenceFigure> read_reference(const std::filesystem::path& path);

/// A reference figure beside the sweep's own.
struct ReferenceRow {
  ReferenceFigure figure;
  std::string here;                            // name of the matching cell; "" = none
  std::string measured;                        // the cell's figure with its unit; "" = none
  std::optional<double> published_to_compare;  // the published ratio or share
  std::optional<double> measured_to_compare;
  std::optional<record::Interval> interval;  // 95 % interval of the measured value
  std::string disturbance;                   // why its runs can't be judged; "" = they can
  std::string verdict;                       // "as published", "higher", "lower", or why it can't be compared

  bool is_share() const { return figure.unit == "%"; }
};
std::vector<ReferenceRow> hold_against(const std::vector<ReferenceFigure>& reference, const Sweep& sweep);

/// A row for each.
report::Table reference_table(std::span<const ReferenceRow> rows);
/// A sentence on the comparable rows; "" if there are none.
std::string reference_sentence(std::span<const ReferenceRow> rows);
/// The comparable rows for a plot: a list of objects.
nlohmann::ordered_json reference_plot_data(std::span<const ReferenceRow> rows);

}  // namespace evener::sweeps
