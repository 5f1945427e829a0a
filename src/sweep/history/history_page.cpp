#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/files.h"
#include "base/plural.h"
#include "report/format.h"
#include "report/html.h"
#include "report/html_table.h"
#include "sweep/history/history.h"

namespace evener::sweeps {
namespace {

constexpr std::string_view kHistoryTools =
#include "report/page/plot_tools.js.inc"
    ;
constexpr std::string_view kHistoryScript =
#include "sweep/history/history.js.inc"
    ;
constexpr std::string_view kHistoryStyle =
#include "sweep/history/history.css.inc"
    ;

std::size_t changes_in(const HistorySeries& series) {
  std::size_t changes = 0;
  for (const HistoryFigure& figure : series.figures) changes += figure.changes.size() + figure.drift.has_value();
  return changes;
}

std::string title_of(const History& history) {
  std::size_t changes = 0;
  bool could_be_shown = false;
  for (const HistorySeries& series : history.series) {
    changes += changes_in(series);
    could_be_shown |= std::ranges::any_of(series.figures, [](const auto& figure) { return figure.least.has_value(); });
  }
  if (changes > 0) return counted(changes, "change") + " found";
  return could_be_shown ? "No change found" : "No change could be found in so few runs";
}

std::string lead_of(const History& history) {
  std::size_t runs = 0;
  std::string first, last;
  for (const HistorySeries& series : history.series) {
    runs += series.runs.size();
    const std::string from = day_of(series.runs.front().record), to = day_of(series.runs.back().record);
    if (first.empty() || from < first) first = from;
    if (last.empty() || to > last) last = to;
  }
  return fmt::format("{} of {} from {} to {}: the same work done the same way on the same machine, by date.",
                     counted(runs, "run"), counted(history.series.size(), "cell"), first, last);
}

std::string header_of(const History& history, const HeldLimits& held) {
  std::string leads = report::lead_html(lead_of(history));
  for (const std::string& failure : held.failures) leads += report::lead_html(failure, /*warns=*/true);
  for (const std::string& open : held.undecided) leads += report::lead_html(open, /*warns=*/true);
  std::set<std::string> machines;
  for (const HistorySeries& series : history.series) machines.insert(series.machine);
  return report::header_html("history", title_of(history), leads, {machines.begin(), machines.end()});
}

std::string section_of(const HistorySeries& series, std::size_t number, std::size_t tests) {
  return fmt::format(
      "<section class=\"history\"><h2>{}</h2><p class=\"explain\">{}</p><div "
      "class=\"card\">{}</div>{}<details><summary>All programs by date</summary>{}</details></section>\n",
      report::escape_html(series.cell), report::escape_html(series.machine),
      report::notes_html(history_sentences(series, tests)),

      fmt::format("<div class=\"needs-plots\"><div class=\"grid\" id=\"plots-{}\"></div></div>", number),
      report::table_html(versions_table(series), false));
}

std::string method_section(const History& history) {
  const std::string explanation = fmt::format(
      "<p class=\"explain\">Change points by E-divisive means with permutation tests, and Student's t where runs are "
      "too few for these. p is the chance of a change like "
      "this where there is none, corrected for {} (Holm): among them all, a false one is told in at most 5 of 100 such "
      "pages. Intervals cover 95 %. Runs that follow each other closely and share a disturbance can look like a "
      "change: see whether the program changed there.</p>",
      counted(history.tests, "test"));
  return report::section_html("How sure this is", "", explanation + report::notes_html(history.notes)) + "\n";
}

}  // namespace

std::string history_page(const History& history, const HeldLimits& held, std::string_view plotly_js,
                         std::string_view hint) {
  std::string sections;
  if (history.series.size() > 1) {
    sections += report::section_html("All cells", "", report::table_html(history_table(history), false)) + "\n";
  }
  for (const bool changed : {true, false}) {
    for (std::size_t n = 0; n < history.series.size(); ++n) {
      if ((changes_in(history.series[n]) > 0) == changed) sections += section_of(history.series[n], n, history.tests);
    }
  }
  sections += method_section(history);
  report::Page page = report::report_page(title_of(history));
  page.styles.push_back(kHistoryStyle);
  page.content = report::report_content(header_of(history, held), hint, sections, !plotly_js.empty());
  if (!plotly_js.empty()) {
    page.data = history_json(history, held);
    page.scripts = {plotly_js, kHistoryTools, kHistoryScript};
  }
  return page.html();
}

report::WrittenPage write_history_page(const std::filesystem::path& path, const History& history,
                                       const HeldLimits& held, const std::filesystem::path& plotly) {
  const report::PlotlySource source = report::read_plotly(plotly);
  write_file_atomically(path, history_page(history, held, source.javascript, source.hint));
  return {path, source.hint};
}

}  // namespace evener::sweeps
