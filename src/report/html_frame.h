// What every page of a report is put into. Inside report/ only.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace evener::report {

/// From the beginning of the page to its body, which is open.
std::string page_head(std::string_view title);

struct PlotlySource {
  std::string javascript;  // empty: there are no plots
  std::string hint;        // why, and what to do; else empty
};
PlotlySource read_plotly(const std::filesystem::path& plotly);

}  // namespace evener::report
