#include "report/html.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/error.h"
#include "base/files.h"
#include "base/module.h"
#include "report/html_parts.h"
#include "report/page.h"

namespace evener::report {
namespace {

constexpr std::string_view kPlots =
#include "report/page/plots.js.inc"
    ;
constexpr std::string_view kDetectionPlots =
#include "report/page/detection.js.inc"
    ;
constexpr std::string_view kLatencyPlots =
#include "report/page/latency.js.inc"
    ;

}  // namespace

std::filesystem::path plotly_path() {
  if (const char* given = std::getenv("EVENER_PLOTLY"); given != nullptr && *given != '\0') return given;
  // The installed place, or else the place in the build folder.
  std::error_code ignored;
  if (const auto beside = library_folder() / "evener" / "plotly.min.js"; std::filesystem::exists(beside, ignored)) {
    return beside;
  }
#ifdef EVENER_PLOTLY_PATH
  return EVENER_PLOTLY_PATH;
#else
  return {};
#endif
}

std::string html_page(std::span<const Run> runs, std::string_view plotly_js, std::string_view hint) {
  if (runs.empty()) throw Error("a report needs at least one run");
  std::string sections;
  for (const auto part : {warnings_part, jobs_part, detection_part, predictions_part, latency_part, timeline_part,
                          stages_part, replicas_part, classes_part, calibration_part, layers_part, profile_part,
                          setting_part, notes_part, details_part})
    sections += part(runs) + "\n";
  Page page = report_page(runs.size() == 1 ? runs.front().name : fmt::format("{} runs", runs.size()));
  page.content = report_content(header_part(runs), hint, sections, !plotly_js.empty());
  if (!plotly_js.empty()) {
    page.data = plot_data(runs);
    page.scripts = {plotly_js, kDetectionPlots, kLatencyPlots, kPlots};
  }
  return page.html();
}

WrittenPage write_html(const std::filesystem::path& path, std::span<const Run> runs,
                       const std::filesystem::path& plotly) {
  const PlotlySource source = read_plotly(plotly);
  write_file_atomically(path, html_page(runs, source.javascript, source.hint));
  return {path, source.hint};
}

}  // namespace evener::report
