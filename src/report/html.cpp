#include "report/html.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/error.h"
#include "base/files.h"
#include "base/module.h"
#include "report/format.h"
#include "report/html_frame.h"
#include "report/html_parts.h"

namespace evener::report {
namespace {

constexpr std::string_view kReportStyle =
#include "report/page/style.css.inc"
#include "report/page/timeline.css.inc"
    ;
constexpr std::string_view kPlots =
#include "report/page/plots.js.inc"
    ;
constexpr std::string_view kDetectionPlots =
#include "report/page/detection.js.inc"
    ;
constexpr std::string_view kLatencyPlots =
#include "report/page/latency.js.inc"
    ;

constexpr std::uint64_t kPlotlyLimitBytes = 64u << 20;
/// Nothing may be fetched from anywhere: the page must be the same offline, and tell nobody that it is read.
constexpr const char* kReportPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:";

bool looks_like_plotly(std::string_view source) {
  // "</script" would end the element that holds it.
  return source.find("Plotly") != std::string_view::npos && source.find("</script") == std::string_view::npos;
}

}  // namespace

std::filesystem::path plotly_path() {
  if (const char* given = std::getenv("EVENER_PLOTLY"); given != nullptr && *given != '\0') return given;
  // As it is installed; otherwise in the folder that the program was built in.
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

std::string page_head(std::string_view title) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{} - evener report</title>\n<style>{}</style>\n</head>\n<body>\n",
      kReportPolicy, escape_html(title), kReportStyle);
}

PlotlySource read_plotly(const std::filesystem::path& plotly) {
  PlotlySource found;
  if (plotly.empty()) {
    found.hint = "No plots: this program was built without a place for Plotly; set EVENER_PLOTLY to plotly.min.js.";
    return found;
  }
  try {
    std::string source = read_file(plotly, kPlotlyLimitBytes);
    if (!looks_like_plotly(source)) throw Error(plotly.string() + " is not Plotly's JavaScript");
    found.javascript = std::move(source);
  } catch (const Error& problem) {
    found.hint =
        fmt::format("No plots: {}. Run the set-up again, or set EVENER_PLOTLY to plotly.min.js.", problem.what());
  }
  return found;
}

std::string html_page(std::span<const Run> runs, std::string_view plotly_js, std::string_view hint) {
  if (runs.empty()) throw Error("a report needs at least one run");
  std::string page = page_head(runs.size() == 1 ? runs.front().name : fmt::format("{} runs", runs.size()));
  page += header_part(runs);
  page += "\n<main>\n<p class=\"warning\" id=\"problem\" hidden></p>\n";
  if (!hint.empty()) page += "<p class=\"warning\">" + escape_html(hint) + "</p>\n";
  for (const auto part :
       {trouble_part, jobs_part, detection_part, answers_part, latency_part, timeline_part, stages_part, replicas_part,
        classes_part, layers_part, profile_part, setting_part, notes_part, details_part})
    page += part(runs) + "\n";
  page += "</main>\n<footer>Written by evener; everything is inside this one file.";
  if (!plotly_js.empty()) page += " Plots by Plotly.js (MIT licence).";
  page += "</footer>\n";
  if (!plotly_js.empty()) {
    page += "<script type=\"application/json\" id=\"data\">" + escape_json_for_script(plot_data(runs)) + "</script>\n";
    page += "<script>";
    page += plotly_js;
    page += "</script>\n<script>";
    page += kDetectionPlots;
    page += kLatencyPlots;
    page += kPlots;
    page += "</script>\n";
  }
  return page + "</body>\n</html>\n";
}

WrittenPage write_html(const std::filesystem::path& path, std::span<const Run> runs,
                       const std::filesystem::path& plotly) {
  const PlotlySource source = read_plotly(plotly);
  write_file_atomically(path, html_page(runs, source.javascript, source.hint));
  return {path, source.hint};
}

}  // namespace evener::report
