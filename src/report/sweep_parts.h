// The parts of a sweep's page, most of them pieces of HTML. Inside report/ only.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/sweep.h"

namespace evener::report {

/// The figures of which at least one cell has a value, the main one first.
std::vector<record::Metric> sweep_metrics(const Sweep& sweep);

/// A plot of two figures of all cells with its Pareto front: time against energy, or speed against a figure of quality.
struct FrontPlot {
  std::string x, y;  // names of the figures
};
std::vector<FrontPlot> front_plots(const Sweep& sweep);

/// Axes with two or more values that are numbers or sizes, over which figures can be plotted.
std::vector<std::string> numeric_axes(const Sweep& sweep);

/// The content of sweep_json(), which is also the data of the page's plots.
nlohmann::ordered_json sweep_report(const Sweep& sweep);

/// Reference figures beside the sweep's; "" without any.
std::string reference_part(const Table& table, const std::string& explanation);
std::string sweep_reference_part(const Sweep& sweep);

std::string sweep_header_part(const Sweep& sweep);
std::string sweep_cells_part(const Sweep& sweep);
std::string sweep_plots_part(const Sweep& sweep);
std::string sweep_scaling_part(const Sweep& sweep);
std::string sweep_runs_part(const Sweep& sweep);
std::string sweep_method_part(const Sweep& sweep);

}  // namespace evener::report
