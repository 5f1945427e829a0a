// The HTML report: one page with everything in it, Plotly included, that opens offline.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "report/run.h"

namespace evener::report {

/// Where Plotly's one JavaScript file is: the environment variable EVENER_PLOTLY if set, else the place known when
/// this was built. Not checked for existence; "" if there is none.
std::filesystem::path plotly_path();

/// What happened when the page was written.
struct WrittenPage {
  std::filesystem::path path;
  std::string hint;  // why there are no plots, and what to do; else empty
};

/// The page as text. `plotly_js`: the library's source; empty = tables only, with `hint` shown.
std::string html_page(std::span<const Run> runs, std::string_view plotly_js, std::string_view hint = "");

/// Writes the page atomically. Without Plotly the page is still written, with tables only.
WrittenPage write_html(const std::filesystem::path& path, std::span<const Run> runs,
                       const std::filesystem::path& plotly = plotly_path());

}  // namespace evener::report
