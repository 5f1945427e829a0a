// The page of a history: what changed, when, and by how much, with a plot for each figure.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "report/history.h"
#include "report/html.h"

namespace evener::report {

/// The page as text; `failures`: what is beyond a limit. `plotly_js` and `hint` as in html_page().
std::string history_page(const History& history, const std::vector<std::string>& failures, std::string_view plotly_js,
                         std::string_view hint = "");

/// Writes the page atomically. Without Plotly it is still written, with tables only.
WrittenPage write_history_page(const std::filesystem::path& path, const History& history,
                               const std::vector<std::string>& failures,
                               const std::filesystem::path& plotly = plotly_path());

}  // namespace evener::report
