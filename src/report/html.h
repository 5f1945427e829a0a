// The HTML report: one page with everything in it, Plotly included, that opens offline.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/page_part.h"
#include "report/run.h"

namespace evener::report {

// The frame of every HTML page that evener writes: one file with everything in it, which opens offline.

/// The content security policy that forbids all fetching: a page must look the same offline, and tell nobody that it is
/// read.
inline constexpr std::string_view kClosedPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:";

/// The same but for pictures that lie beside the page: 'self' allows those of the same server; for a page opened as a
/// file it allows nothing, hence file:.
inline constexpr std::string_view kPhotosPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: 'self' file:";

struct Page {
  std::string title;  // of the window
  std::string_view policy = kClosedPolicy;
  std::vector<std::string_view> styles = {};   // CSS; "" is left out
  std::string content = {};                    // HTML of the body
  std::string data = {};                       // JSON for the scripts, in the element "data"; "" = none
  std::vector<std::string_view> scripts = {};  // JavaScript, in this order; "" is left out

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

/// The path of Plotly's JavaScript file: $EVENER_PLOTLY if set, else the place known when this was built; "" if there
/// is none. Doesn't check that the file exists.
std::filesystem::path plotly_path();

/// The result of writing a page.
struct WrittenPage {
  std::filesystem::path path;
  std::string hint;  // if there are no plots: why, and what to do
};

/// The page as text. `plotly_js`: the library's source; empty = tables only, with `hint` shown. `parts`: what the
/// capabilities have to say of the runs.
std::string html_page(std::span<const Run> runs, std::string_view plotly_js, std::string_view hint = "",
                      std::span<const PagePart> parts = {});

/// Writes the page atomically. Without Plotly the page is still written, with tables only.
WrittenPage write_html(const std::filesystem::path& path, std::span<const Run> runs,
                       std::span<const PagePart> parts = {}, const std::filesystem::path& plotly = plotly_path());

}  // namespace evener::report
