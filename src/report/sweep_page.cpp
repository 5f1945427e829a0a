#include "report/sweep_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/names.h"
#include "base/plural.h"
#include "report/format.h"
#include "report/html_parts.h"
#include "report/html_table.h"
#include "report/page.h"
#include "report/sweep_parts.h"

namespace evener::report {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPlotTools =
#include "report/page/plot_tools.js.inc"
    ;
constexpr std::string_view kSweepScript =
#include "report/page/sweep.js.inc"
    ;
constexpr std::string_view kOverviewScript =
#include "report/page/sweeps.js.inc"
    ;
constexpr std::string_view kSortScript =
#include "report/page/sort.js.inc"
    ;
constexpr std::string_view kSweepStyle =
#include "report/page/sweep.css.inc"
    ;

std::string title_of_sweep(const Sweep& sweep) {
  return sweep.record.title.empty() ? sweep.name : sweep.record.title;
}

std::vector<ReferenceRow> all_references(std::span<const Sweep> sweeps) {
  std::vector<ReferenceRow> rows;
  for (const Sweep& sweep : sweeps) rows.insert(rows.end(), sweep.reference.begin(), sweep.reference.end());
  return rows;
}

/// "3 cells of 2 sweeps have no figures: ...", for example for devices that this machine lacks.
std::string missing_sentence(std::span<const Sweep> sweeps) {
  std::size_t missing = 0, cells = 0;
  for (const Sweep& sweep : sweeps) {
    cells += sweep.cells.size();
    missing += static_cast<std::size_t>(
        std::ranges::count_if(sweep.cells, [](const SweepCellRuns& cell) { return !cell.record; }));
  }
  if (missing == 0) return "";
  return fmt::format("{} of {} could not be measured here; each stands in its table with the reason.", missing,
                     counted(cells, "cell"));
}

/// Why none of the sweeps has an energy; "" where one has.
std::string energy_sentence(std::span<const Sweep> sweeps) {
  std::string reason;
  for (const Sweep& sweep : sweeps) {
    for (const SweepCellRuns& cell : sweep.cells) {
      if (!cell.record) continue;
      if (cell.record->energy.joules) return "";
      if (reason.empty()) reason = cell.record->energy.reason;
    }
  }
  return reason.empty() ? "" : "Energy is absent: " + reason + ".";
}

std::string overview_header(std::span<const Sweep> sweeps, const std::vector<ReferenceRow>& references,
                            const OverviewText& top) {
  const std::string title = !top.title.empty() ? top.title
                                               : fmt::format("{}{}", counted(sweeps.size(), "sweep"),
                                                             references.empty() ? "" : ": published against measured");
  std::vector<std::string> sentences = top.sentences;
  sentences.insert(sentences.end(),
                   {reference_sentence(references), missing_sentence(sweeps), energy_sentence(sweeps)});
  std::string lead, chips;
  for (const std::string& sentence : sentences) {
    if (!sentence.empty()) lead += "<p class=\"lead\">" + escape_html(sentence) + "</p>";
  }
  std::vector<std::string> machines;
  for (const Sweep& sweep : sweeps) {
    for (const SweepCellRuns& cell : sweep.cells) {
      if (!cell.record) continue;
      const record::MachineRecord& machine = cell.record->machine;
      std::string text =
          fmt::format("{}, {}, {} memory", machine.cpu, counted(static_cast<std::size_t>(machine.cores), "core"),
                      bytes_text(machine.memory_bytes));
      if (std::ranges::find(machines, text) == machines.end()) machines.push_back(std::move(text));
    }
  }
  for (const std::string& machine : machines) chips += "<li>" + escape_html(machine) + "</li>";
  return fmt::format(
      "<header><p class=\"brand\"><b>evener</b> sweeps</p><h1>{}</h1>{}<ul class=\"chips\">{}</ul></header>",
      escape_html(title), lead, chips);
}

/// All reference figures, each beside its sweep's.
std::string all_references_part(std::span<const Sweep> sweeps) {
  Table all;
  for (const Sweep& sweep : sweeps) {
    if (sweep.reference.empty()) continue;
    const Table table = reference_table(sweep.reference);
    all.columns = table.columns;
    all.columns.insert(all.columns.begin(), Column{"sweep", false});
    for (std::vector<std::string> row : table.rows) {
      row.insert(row.begin(), sweep.name);
      all.rows.push_back(std::move(row));
    }
    for (const std::string& note : table.notes) {
      if (std::ranges::find(all.notes, note) == all.notes.end()) all.notes.push_back(note);
    }
  }
  if (all.rows.empty()) return "";
  return reference_part(all,
                        "Times of other machines stand beside ours and are not compared; ratios of two ways on one "
                        "machine, and accuracies, are. In brackets: 95 % intervals.");
}

std::string sweep_section(const Sweep& sweep, const fs::path& folder, std::size_t number) {
  std::string html = fmt::format("<section><h2>{}</h2>", escape_html(title_of_sweep(sweep)));
  for (const std::string& sentence : sweep_conclusion(sweep)) {
    html += "<p class=\"explain\">" + escape_html(sentence) + "</p>";
  }
  std::error_code none;
  if (fs::exists(sweep.folder / "report.html", none)) {
    const fs::path page = fs::relative(sweep.folder / "report.html", folder.empty() ? fs::path(".") : folder, none);
    html += fmt::format("<p class=\"explain\"><a href=\"{}\">All of it: {}</a></p>",
                        escape_html(url_path(page.string())), escape_html(sweep.name));
  }
  html += "<div class=\"needs-plots\">" +
          plot_card(fmt::format("cells-{}", number), title_of_sweep(sweep),
                    "Each dot is a run; the bar is the mean, with the range of the runs.") +
          "</div>";
  return html + "<div class=\"after\">" + table_html(sweep_table(sweep), true) + "</div></section>";
}

nlohmann::ordered_json overview_data(std::span<const Sweep> sweeps) {
  nlohmann::ordered_json data = {{"reference", nlohmann::ordered_json::array()},
                                 {"sweeps", nlohmann::ordered_json::array()}};
  for (const Sweep& sweep : sweeps) {
    nlohmann::ordered_json report = sweep_report(sweep);
    for (nlohmann::ordered_json& row : report["reference"]) {
      row["experiment"] = sweep.name.substr(0, sweep.name.find('-'));
      data["reference"].push_back(row);
    }
    data["sweeps"].push_back(std::move(report));
  }
  return data;
}

/// A page with sortable tables and, if there is Plotly, plots that `script` draws from `data`.
std::string page_of(const std::string& title, std::string_view plotly_js, std::string content,
                    const nlohmann::ordered_json& data, std::string_view script) {
  Page page = report_page(title);
  page.styles.push_back(kSweepStyle);
  page.content = std::move(content);
  page.scripts = {kSortScript};
  if (!plotly_js.empty()) {
    page.data = data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    page.scripts = {kSortScript, plotly_js, kPlotTools, script};
  }
  return page.html();
}

}  // namespace

std::string sweep_page(const Sweep& sweep, std::string_view plotly_js, std::string_view hint) {
  std::string sections;
  for (const auto part : {sweep_cells_part, sweep_reference_part, sweep_plots_part, sweep_scaling_part,
                          sweep_method_part, sweep_runs_part}) {
    sections += part(sweep) + "\n";
  }
  return page_of(title_of_sweep(sweep), plotly_js,
                 report_content(sweep_header_part(sweep), hint, sections, !plotly_js.empty()), sweep_report(sweep),
                 kSweepScript);
}

std::string sweeps_page(std::span<const Sweep> sweeps, const fs::path& folder, std::string_view plotly_js,
                        std::string_view hint, const OverviewText& top) {
  std::string sections;
  for (std::size_t n = 0; n < sweeps.size(); ++n) sections += sweep_section(sweeps[n], folder, n) + "\n";
  // Of a page with a title of its own, the published figures are not what it is about.
  const std::string references = all_references_part(sweeps) + "\n";
  sections = top.title.empty() ? references + sections : sections + references;
  const std::string header = overview_header(sweeps, all_references(sweeps), top);
  return page_of("Sweeps", plotly_js, report_content(header, hint, sections, !plotly_js.empty()), overview_data(sweeps),
                 kOverviewScript);
}

WrittenPage write_sweep_page(const fs::path& path, const Sweep& sweep, const fs::path& plotly) {
  const PlotlySource source = read_plotly(plotly);
  write_file_atomically(path, sweep_page(sweep, source.javascript, source.hint));
  return {path, source.hint};
}

WrittenPage write_sweeps_page(const fs::path& path, std::span<const Sweep> sweeps, const fs::path& plotly,
                              const OverviewText& top) {
  const PlotlySource source = read_plotly(plotly);
  write_file_atomically(path, sweeps_page(sweeps, path.parent_path(), source.javascript, source.hint, top));
  return {path, source.hint};
}

}  // namespace evener::report
