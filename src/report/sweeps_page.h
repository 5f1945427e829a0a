// Several sweeps on one page: what each showed, and all figures that were measured elsewhere beside theirs.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "report/html.h"
#include "report/sweep.h"

namespace evener::report {

/// The page as text. `plotly_js`: the library's source; empty = tables only, with `hint` shown. `folder`: where the
/// page goes, for links to the pages of the sweeps.
std::string sweeps_page(std::span<const Sweep> sweeps, const std::filesystem::path& folder, std::string_view plotly_js,
                        std::string_view hint = "");

/// Writes the page atomically, without plots where Plotly isn't there.
WrittenPage write_sweeps_page(const std::filesystem::path& path, std::span<const Sweep> sweeps,
                              const std::filesystem::path& plotly = plotly_path());

}  // namespace evener::report
