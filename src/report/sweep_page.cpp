#include "report/sweep_page.h"

#include "base/files.h"
#include "report/format.h"
#include "report/html_frame.h"
#include "report/sweep_parts.h"

namespace evener::report {
namespace {

constexpr std::string_view kSweepScript =
#include "report/page/sweep.js.inc"
    ;
constexpr std::string_view kPlotTools =
#include "report/page/plot_tools.js.inc"
    ;
constexpr std::string_view kSortScript =
#include "report/page/sort.js.inc"
    ;
constexpr std::string_view kSweepStyle =
#include "report/page/sweep.css.inc"
    ;

}  // namespace

std::string sweep_page(const Sweep& sweep, std::string_view plotly_js, std::string_view hint) {
  std::string page = page_head(sweep.record.title.empty() ? sweep.name : sweep.record.title);
  page += "<style>";
  page += kSweepStyle;
  page += "</style>\n" + sweep_header_part(sweep);
  page += "\n<main>\n<p class=\"warning\" id=\"problem\" hidden></p>\n";
  if (!hint.empty()) page += "<p class=\"warning\">" + escape_html(hint) + "</p>\n";
  for (const auto part : {sweep_cells_part, sweep_reference_part, sweep_plots_part, sweep_scaling_part,
                          sweep_method_part, sweep_runs_part}) {
    page += part(sweep) + "\n";
  }
  page += "</main>\n<footer>Written by evener; everything is inside this one file.";
  if (!plotly_js.empty()) page += " Plots by Plotly.js (MIT licence).";
  page += "</footer>\n<script>";
  page += kSortScript;
  page += "</script>\n";
  if (!plotly_js.empty()) {
    page += "<script type=\"application/json\" id=\"data\">" + escape_json_for_script(sweep_plot_data(sweep)) +
            "</script>\n";
    for (const std::string_view script : {plotly_js, kPlotTools, kSweepScript}) {
      page += "<script>";
      page += script;
      page += "</script>\n";
    }
  }
  return page + "</body>\n</html>\n";
}

WrittenPage write_sweep_page(const std::filesystem::path& path, const Sweep& sweep,
                             const std::filesystem::path& plotly) {
  const PlotlySource source = read_plotly(plotly);
  write_file_atomically(path, sweep_page(sweep, source.javascript, source.hint));
  return {path, source.hint};
}

}  // namespace evener::report
