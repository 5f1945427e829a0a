// The HTML report: one page with everything in it, Plotly included, that opens offline.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "report/run.h"

namespace evener::report {

/// The path of Plotly's JavaScript file: $EVENER_PLOTLY if set, else the place known when this was built; "" if there
/// is none. Doesn't check that the file exists.
std::filesystem::path plotly_path();

/// The result of writing a page.
struct WrittenPage {
  std::filesystem::path path;
  std::string hint;  // if there are no plots: why, and what to do
};

/// The page as text. `plotly_js`: the library's source; empty = tables only, with `hint` shown.
std::string html_page(std::span<const Run> runs, std::string_view plotly_js, std::string_view hint = "");

/// Writes the page atomically. Without Plotly the page is still written, with tables only.
WrittenPage write_html(const std::filesystem::path& path, std::span<const Run> runs,
                       const std::filesystem::path& plotly = plotly_path());

}  // namespace evener::report
