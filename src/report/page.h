// The frame of every HTML page that evener writes: one file with everything in it, which opens offline.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace evener::report {

/// The content security policy that forbids all fetching: a page must look the same offline, and tell nobody that it is
/// read.
inline constexpr std::string_view kClosedPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:";

struct Page {
  std::string title;  // of the window
  std::string_view policy = kClosedPolicy;
  std::vector<std::string_view> styles = {};   // CSS
  std::string content = {};                    // HTML of the body
  std::string data = {};                       // JSON for the scripts, in the element "data"; "" = none
  std::vector<std::string_view> scripts = {};  // JavaScript, in this order

  std::string html() const;
};

/// Plotly's source code, which a report includes for its plots.
struct PlotlySource {
  std::string javascript;  // empty: there are no plots
  std::string hint;        // if there are no plots: why, and what to do
};
PlotlySource read_plotly(const std::filesystem::path& plotly);

/// A page in the style of reports: a header, sections, and a footer.
Page report_page(const std::string& title);
/// The content of such a page: `header`, then `hint` (why there are no plots; "" = none), then `sections`.
std::string report_content(const std::string& header, std::string_view hint, const std::string& sections,
                           bool has_plots);

}  // namespace evener::report
