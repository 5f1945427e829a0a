// The pages of one sweep and of several sweeps: conclusions, figures, and reference figures beside them.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/html.h"
#include "sweep/figures/sweep.h"

namespace evener::sweeps {

/// The page as text. `plotly_js`: the library's source; empty = tables only, with `hint` shown.
std::string sweep_page(const Sweep& sweep, std::string_view plotly_js, std::string_view hint = "");

/// What stands at the top of a page of several sweeps.
struct OverviewText {
  std::string title = {};                   // "" = their number
  std::vector<std::string> sentences = {};  // below it
};
/// The same for several sweeps. `folder`: the page's folder, for links to the pages of the sweeps.
std::string sweeps_page(std::span<const Sweep> sweeps, const std::filesystem::path& folder, std::string_view plotly_js,
                        std::string_view hint = "", const OverviewText& top = {});

/// These write the pages atomically; without Plotly they have no plots.
report::WrittenPage write_sweep_page(const std::filesystem::path& path, const Sweep& sweep,
                                     const std::filesystem::path& plotly = report::plotly_path());
report::WrittenPage write_sweeps_page(const std::filesystem::path& path, std::span<const Sweep> sweeps,
                                      const std::filesystem::path& plotly = report::plotly_path(),
                                      const OverviewText& top = {});

// The parts of a sweep's page, most of them pieces of HTML. Inside report/ only.

/// The figures of which at least one cell has a value, the main one first.
std::vector<record::Metric> sweep_metrics(const Sweep& sweep);

/// A plot of two figures of all cells with its Pareto front: time against energy, or speed against a figure of quality.
struct FrontPlot {
  std::string x, y;  // names of the figures
};
std::vector<FrontPlot> front_plots(const Sweep& sweep);

/// The content of sweep_json(), which is also the data of the page's plots.
nlohmann::ordered_json sweep_report(const Sweep& sweep);

std::string sweep_header_part(const Sweep& sweep);
std::string sweep_runs_part(const Sweep& sweep);
std::string sweep_method_part(const Sweep& sweep);

}  // namespace evener::sweeps
