#include "report/html.h"

#include <fmt/format.h>

#include <cstdlib>
#include <initializer_list>

#include "base/error.h"
#include "base/files.h"
#include "base/module.h"
#include "report/format.h"
#include "report/html_parts.h"

namespace evener::report {
namespace {

constexpr std::string_view kReportStyle =
#include "report/page/style.css.inc"
#include "report/page/timeline.css.inc"
    ;

constexpr std::uint64_t kPlotlyLimitBytes = 64u << 20;

bool looks_like_plotly(std::string_view source) {
  // "</script" inside a script would end its element.
  return source.find("Plotly") != std::string_view::npos && source.find("</script") == std::string_view::npos;
}

constexpr std::string_view kPlots =
#include "report/page/plots.js.inc"
    ;
constexpr std::string_view kLatencyPlots =
#include "report/page/latency.js.inc"
    ;

}  // namespace

std::string Page::html() const {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n",
      policy, escape_html(title));
  const auto add = [&](std::string_view element, const std::vector<std::string_view>& texts) {
    for (const std::string_view text : texts) {
      if (!text.empty()) html += fmt::format("<{0}>{1}</{0}>\n", element, text);
    }
  };
  add("style", styles);
  html += "</head>\n<body>\n" + content;
  if (!data.empty()) {
    html += "<script type=\"application/json\" id=\"data\">" + escape_json_for_script(data) + "</script>\n";
  }
  add("script", scripts);
  return html + "</body>\n</html>\n";
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

Page report_page(const std::string& title) {
  return {.title = title + " - evener report", .styles = {kReportStyle}};
}

std::string report_content(const std::string& header, std::string_view hint, const std::string& sections,
                           bool has_plots) {
  return fmt::format(
      "{}\n<main>\n<p class=\"warning\" id=\"problem\" hidden></p>\n{}{}</main>\n"
      "<footer>Written by evener; everything is inside this one file.{}</footer>\n",
      header, hint.empty() ? "" : "<p class=\"warning\">" + escape_html(hint) + "</p>\n", sections,
      has_plots ? " Plots by Plotly.js (MIT licence)." : "");
}

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

std::string html_page(std::span<const Run> runs, std::string_view plotly_js, std::string_view hint,
                      std::span<const PagePart> parts) {
  if (runs.empty()) throw Error("a report needs at least one run");
  std::string sections;
  const auto add = [&](std::initializer_list<std::string (*)(std::span<const Run>)> makers) {
    for (const auto make : makers) sections += make(runs) + "\n";
  };
  const auto add_parts = [&](bool are_details) {
    for (const PagePart& part : parts) sections += part.is_detail == are_details ? part.html + "\n" : "";
  };
  add({warnings_part, jobs_part});
  add_parts(/*are_details=*/false);
  add({latency_part, timeline_part, stages_part, replicas_part, classes_part});
  add_parts(/*are_details=*/true);
  add({profile_part, setting_part, notes_part, details_part});
  Page page = report_page(runs.size() == 1 ? runs.front().name : fmt::format("{} runs", runs.size()));
  page.content = report_content(header_part(runs), hint, sections, !plotly_js.empty());
  for (const PagePart& part : parts) page.styles.push_back(part.style);
  if (!plotly_js.empty()) {
    page.data = plot_data(runs, parts);
    page.scripts = {plotly_js, kLatencyPlots};
    for (const PagePart& part : parts) page.scripts.push_back(part.script);
    page.scripts.push_back(kPlots);
  }
  return page.html();
}

WrittenPage write_html(const std::filesystem::path& path, std::span<const Run> runs, std::span<const PagePart> parts,
                       const std::filesystem::path& plotly) {
  const PlotlySource source = read_plotly(plotly);
  write_file_atomically(path, html_page(runs, source.javascript, source.hint, parts));
  return {path, source.hint};
}

}  // namespace evener::report
