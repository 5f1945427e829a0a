// The parts of a sweep's page; each returns a piece of HTML. Inside report/ only.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/sweep.h"

namespace evener::report {

/// The figures that at least one cell has a value of, the main one first.
std::vector<record::Metric> sweep_metrics(const Sweep& sweep);

/// Two figures of all cells against each other: time against energy, speed against a figure of quality.
struct FrontPlot {
  std::string x, y;  // names of the figures
};
std::vector<FrontPlot> front_plots(const Sweep& sweep);

/// Axes whose values are numbers or sizes, two or more: figures are drawn over them.
std::vector<std::string> numeric_axes(const Sweep& sweep);

/// What sweep_json() writes, which the page draws.
nlohmann::ordered_json sweep_report(const Sweep& sweep);

/// Figures that were measured elsewhere beside those of the sweep; "" without any.
std::string reference_part(const Table& table, const std::string& explanation);
std::string sweep_reference_part(const Sweep& sweep);

std::string sweep_header_part(const Sweep& sweep);
std::string sweep_cells_part(const Sweep& sweep);
std::string sweep_plots_part(const Sweep& sweep);
std::string sweep_scaling_part(const Sweep& sweep);
std::string sweep_runs_part(const Sweep& sweep);
std::string sweep_method_part(const Sweep& sweep);

}  // namespace evener::report
