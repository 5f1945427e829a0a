// The page of a sweep, and that of several: what each showed, and all figures that were measured elsewhere beside
// theirs.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "report/html.h"
#include "report/sweep.h"

namespace evener::report {

/// The page as text. `plotly_js`: the library's source; empty = tables only, with `hint` shown.
std::string sweep_page(const Sweep& sweep, std::string_view plotly_js, std::string_view hint = "");

/// The same of several sweeps. `folder`: where the page goes, for links to the pages of the sweeps.
std::string sweeps_page(std::span<const Sweep> sweeps, const std::filesystem::path& folder, std::string_view plotly_js,
                        std::string_view hint = "");

/// These write the pages atomically, without plots where Plotly isn't there.
WrittenPage write_sweep_page(const std::filesystem::path& path, const Sweep& sweep,
                             const std::filesystem::path& plotly = plotly_path());
WrittenPage write_sweeps_page(const std::filesystem::path& path, std::span<const Sweep> sweeps,
                              const std::filesystem::path& plotly = plotly_path());

}  // namespace evener::report
