// What every page that evener writes is made of: one file with everything in it, which opens offline.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace evener::report {

/// Nothing may be fetched from anywhere: a page must be the same offline, and tell nobody that it is read.
inline constexpr std::string_view kClosedPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:";

struct Page {
  std::string title;  // of the window
  std::string_view policy = kClosedPolicy;
  std::vector<std::string_view> styles = {};   // CSS
  std::string content = {};                    // HTML of the body
  std::string data = {};                       // JSON that the scripts read from the element "data"; "" = there is none
  std::vector<std::string_view> scripts = {};  // JavaScript, in this order

  std::string html() const;
};

/// Plotly's source, with which a report draws.
struct PlotlySource {
  std::string javascript;  // empty: there are no plots
  std::string hint;        // why, and what to do; else empty
};
PlotlySource read_plotly(const std::filesystem::path& plotly);

/// A page in the style of reports: a header, sections, and a footer.
Page report_page(const std::string& title);
/// Its content: `header`, then `sections` under what went wrong, `hint` first ("" = nothing).
std::string report_content(const std::string& header, std::string_view hint, const std::string& sections,
                           bool has_plots);

}  // namespace evener::report
