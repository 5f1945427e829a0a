// The page of a sweep: one file with everything in it, that opens offline.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "report/html.h"
#include "report/sweep.h"

namespace evener::report {

/// The page as text. `plotly_js`: the library's source; empty = tables only, with `hint` shown.
std::string sweep_page(const Sweep& sweep, std::string_view plotly_js, std::string_view hint = "");

/// Writes the page atomically, without plots where Plotly isn't there.
WrittenPage write_sweep_page(const std::filesystem::path& path, const Sweep& sweep,
                             const std::filesystem::path& plotly = plotly_path());

}  // namespace evener::report
