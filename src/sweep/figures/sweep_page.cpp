#include "sweep/figures/sweep_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/names.h"
#include "base/plural.h"
#include "report/format.h"
#include "report/html.h"
#include "report/html_parts.h"
#include "report/html_table.h"
#include "sweep/figures/sweep_claims.h"

namespace evener::sweeps {
namespace {

namespace fs = std::filesystem;

bool has_figure(const Sweep& sweep, const std::string& name) {
  return std::ranges::any_of(sweep.cells, [&](const SweepCellRuns& cell) {
    const SweepFigure* figure = cell.figure(name);
    return figure != nullptr && !figure->values.empty();
  });
}

const record::Record* any_record(const Sweep& sweep) {
  for (const SweepCellRuns& cell : sweep.cells) {
    if (cell.record) return &*cell.record;
  }
  return nullptr;
}

report::HtmlTable runs_table(const SweepCellRuns& cell) {
  report::HtmlTable table{.columns = {{"block"}, {"began"}, {"time", true}, {"result"}, {"folder"}}};
  for (const record::SweepRun& run : cell.runs) {
    const std::string part = run.part == record::kMeasurePart ? "" : report::escape_html(run.part) + " ";
    const std::string how =
        run.reason.empty() ? run_end_name(run.end) : fmt::format("{}: {}", run_end_name(run.end), run.reason);
    table.rows.push_back({{{fmt::format("{}{}", part, run.block)},
                           {report::escape_html(run.began)},
                           {run.seconds ? duration_text(*run.seconds) : "–"},
                           {report::escape_html(how)},
                           {report::escape_html(run.folder)}}});
  }
  return table;
}

constexpr std::string_view kPlotTools =
#include "report/page/plot_tools.js.inc"
    ;
constexpr std::string_view kSweepTools =
#include "sweep/figures/sweep_tools.js.inc"
    ;
constexpr std::string_view kSweepScript =
#include "sweep/figures/sweep.js.inc"
    ;
constexpr std::string_view kOverviewScript =
#include "sweep/figures/sweeps.js.inc"
    ;
constexpr std::string_view kSortScript =
#include "report/page/sort.js.inc"
    ;
constexpr std::string_view kSweepStyle =
#include "sweep/figures/sweep.css.inc"
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
  std::string leads;
  for (const std::string& sentence : sentences) leads += sentence.empty() ? "" : report::lead_html(sentence);
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
  return report::header_html("sweeps", title, leads, machines);
}

/// Reference figures beside the sweep's; "" without any.
std::string reference_part(const report::Table& table, const std::string& explanation) {
  return "<section><h2>Published against measured</h2><p class=\"explain\">" + report::escape_html(explanation) +
         "</p><div class=\"needs-plots\"><div class=\"grid\">" +
         report::plot_card("ratios", "One way against another",
                           "How many times as fast (of EDP: as much) it was on one machine, there and here.") +
         report::plot_card("shares", "Accuracy", "Of the data that each had.") + "</div></div><div class=\"after\">" +
         report::table_html(table, true) + "</div></section>";
}

/// All reference figures, each beside its sweep's.
std::string all_references_part(std::span<const Sweep> sweeps) {
  report::Table all;
  for (const Sweep& sweep : sweeps) {
    if (sweep.reference.empty()) continue;
    const report::Table table = reference_table(sweep.reference);
    all.columns = table.columns;
    all.columns.insert(all.columns.begin(), report::Column{"sweep", false});
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
  std::string html = fmt::format("<section><h2>{}</h2>", report::escape_html(title_of_sweep(sweep)));
  for (const std::string& sentence : sweep_conclusion(sweep)) {
    html += "<p class=\"explain\">" + report::escape_html(sentence) + "</p>";
  }
  std::error_code none;
  if (fs::exists(sweep.folder / "report.html", none)) {
    const fs::path page = fs::relative(sweep.folder / "report.html", folder.empty() ? fs::path(".") : folder, none);
    html += fmt::format("<p class=\"explain\"><a href=\"{}\">All of it: {}</a></p>",
                        report::escape_html(report::url_path(page.string())), report::escape_html(sweep.name));
  }
  html += "<div class=\"needs-plots\">" +
          report::plot_card(fmt::format("cells-{}", number), title_of_sweep(sweep),
                            "Each dot is a run; the bar is the mean, with the range of the runs.") +
          "</div>";
  return html + "<div class=\"after\">" + report::table_html(sweep_table(sweep), true) + "</div></section>";
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
  report::Page page = report::report_page(title);
  page.styles.push_back(kSweepStyle);
  page.content = std::move(content);
  page.scripts = {kSortScript};
  if (!plotly_js.empty()) {
    page.data = data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    page.scripts = {kSortScript, plotly_js, kPlotTools, kSweepTools, script};
  }
  return page.html();
}

std::string sweep_reference_part(const Sweep& sweep) {
  if (sweep.reference.empty()) return "";
  return reference_part(reference_table(sweep.reference), reference_sentence(sweep.reference));
}

std::string sweep_cells_part(const Sweep& sweep) {
  return report::section_html(
      "All cells",
      "In square brackets: the range of the runs; in round ones 95 % intervals of ratios. Speedup is "
      "against the first cell that does the same work, by the ratio within each block.",
      report::table_html(sweep_table(sweep), true));
}

std::string sweep_plots_part(const Sweep& sweep) {
  const std::string pivot =
      sweep.cells.size() < 2
          ? ""
          : "<div class=\"card after\"><div class=\"plot-head\"><h3>Pivot</h3><span class=\"controls\" "
            "id=\"pivot-controls\"></span></div><p class=\"explain\">Means over the other axes (geometric where all "
            "are above 0).</p><div class=\"scroll\"><table id=\"pivot\" class=\"everything\"></table></div></div>";
  return "<section class=\"needs-plots\"><h2>Side by side</h2><div class=\"grid\" id=\"plots\"></div>" + pivot +
         "</section>";
}

std::string sweep_scaling_part(const Sweep& sweep) {
  if (sweep.scalings.empty()) return "";
  return report::section_html(
      "Scaling",
      "Speedup and efficiency are against the fewest workers, by the ratio within each block; "
      "Karp-Flatt is the serial fraction that alone would explain it; '-': the runs differ too much to "
      "tell. Amdahl: the speedup of the "
      "fitted law; Gustafson: that of work which grows with the workers.",
      report::table_html(scaling_table(sweep), false));
}

}  // namespace

std::string sweep_runs_part(const Sweep& sweep) {
  std::string html = "<div class=\"card\">";
  for (const SweepCellRuns& cell : sweep.cells) {
    std::vector<std::string> command;
    for (const auto& [name, value] : cell.cell.environment) command.push_back(name + "=" + value);
    command.emplace_back("evener");
    command.insert(command.end(), cell.cell.words.begin(), cell.cell.words.end());
    html += fmt::format("<details><summary>{}: {}</summary><pre>{}</pre>{}</details>", report::escape_html(cell.name),
                        counted(cell.runs.size(), "run"), report::command_html(command), runs_table(cell).scrolled());
  }
  return report::section_html("Runs", "", html + "</div>");
}

std::string sweep_header_part(const Sweep& sweep) {
  std::string leads;
  for (const std::string& sentence : sweep_conclusion(sweep)) {
    leads += report::lead_html(sentence, sentence.starts_with("INVALID") || sentence.starts_with("Failed"));
  }
  constexpr std::size_t kMostLaws = 4;  // more are in the table only
  for (const SweepScaling& scaling : sweep.scalings) {
    if (sweep.scalings.size() > kMostLaws) break;
    const bool holds = std::ranges::all_of(scaling.cells, [&](std::size_t n) {
      return sweep.cells[n].not_comparable + sweep.cells[n].beside_others == 0;  // of others' threads it isn't the law
    });
    if (!holds) continue;
    if (const std::string text = scaling_sentence(scaling); !text.empty()) leads += report::lead_html(text);
  }
  std::size_t runs = 0;
  for (const SweepCellRuns& cell : sweep.cells) runs += cell.runs.size();
  std::vector<std::string> chips = {counted(sweep.cells.size(), "cell"), counted(runs, "run")};
  if (const record::Record* record = any_record(sweep)) {
    chips.insert(chips.end(), {record->machine.cpu, fmt::format("{} cores", record->machine.cores),
                               bytes_text(record->machine.memory_bytes) + " memory"});
  }
  if (!sweep.record.started.empty()) chips.push_back("started " + sweep.record.started);
  return report::header_html("sweep", title_of_sweep(sweep), leads, chips);
}

std::string sweep_method_part(const Sweep& sweep) {
  const record::SweepRecord& record = sweep.record;
  report::Facts facts = {
      {"order", fmt::format("randomised complete blocks, drawn by order-seed {}", record.order_seed)},
      {"how many runs", stopping_rule_text(record)},
      {"corrected for", counted(sweep.claims, "comparison") + " (Holm), at 5 % for all together"}};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) facts.emplace_back(name, value);
  };
  if (record.warmup > 0) add("warm-up", counted(record.warmup, "run") + " of each cell, which don't count");
  if (record.energy_repeats > 0)
    add("energy", counted(record.energy_repeats, "run") + " of each cell for energy alone");
  add("before all", record.setup);
  add("before each run", record.prepare);
  add("after each run", record.cleanup);
  add("cool-down", record.cool_down);
  add("length of a run", record.steady);
  if (record.run_limit_s) add("limit of a run", duration_text(*record.run_limit_s));
  for (const record::SweepSeries& series : record.series) {
    if (series.number != record.series_now) continue;
    add("machine", series.machine);
    add("program", fmt::format("version {}, files {}", record.version, series.program));
  }
  return report::section_html("How it was measured", "",
                              fmt::format("<div class=\"card\">{}<pre>{}</pre></div>", report::facts_html(facts),
                                          report::command_html(record.words)));
}

std::vector<record::Metric> sweep_metrics(const Sweep& sweep) {
  std::vector<record::Metric> metrics;
  for (const SweepCellRuns& cell : sweep.cells) {
    for (const SweepFigure& figure : cell.figures) {
      if (figure.values.empty()) continue;
      const auto known = std::ranges::find(metrics, figure.metric.name, &record::Metric::name);
      if (known == metrics.end()) {
        metrics.push_back(figure.metric);
      } else if (known->label != figure.metric.label && figure.energy != record::EnergyClass::kAbsent) {
        known->label = figure.metric.label.substr(0, figure.metric.label.rfind(" (")) + " (of several classes)";
      }
    }
  }
  std::stable_partition(metrics.begin(), metrics.end(),
                        [&](const auto& metric) { return metric.name == sweep.main_figure; });
  return metrics;
}

std::vector<FrontPlot> front_plots(const Sweep& sweep) {
  std::vector<FrontPlot> plots;
  if (has_figure(sweep, "total_s") && has_figure(sweep, "energy_joules")) plots.push_back({"total_s", "energy_joules"});
  for (const record::Metric& metric : sweep_metrics(sweep)) {
    const bool better_known = has_figure(sweep, metric.stands_in_for);
    if (metric.role == record::MetricRole::kQuality && !better_known) plots.push_back({sweep.main_figure, metric.name});
  }
  return plots;
}

std::string sweep_page(const Sweep& sweep, std::string_view plotly_js, std::string_view hint) {
  std::string sections;
  for (const auto part : {sweep_cells_part, sweep_reference_part, sweep_plots_part, sweep_scaling_part,
                          sweep_method_part, sweep_runs_part}) {
    sections += part(sweep) + "\n";
  }
  return page_of(title_of_sweep(sweep), plotly_js,
                 report::report_content(sweep_header_part(sweep), hint, sections, !plotly_js.empty()),
                 sweep_report(sweep), kSweepScript);
}

std::string sweeps_page(std::span<const Sweep> sweeps, const fs::path& folder, std::string_view plotly_js,
                        std::string_view hint, const OverviewText& top) {
  std::string sections;
  for (std::size_t n = 0; n < sweeps.size(); ++n) sections += sweep_section(sweeps[n], folder, n) + "\n";
  // Of a page with a title of its own, the published figures are not what it is about.
  const std::string references = all_references_part(sweeps) + "\n";
  sections = top.title.empty() ? references + sections : sections + references;
  const std::string header = overview_header(sweeps, all_references(sweeps), top);
  return page_of("Sweeps", plotly_js, report::report_content(header, hint, sections, !plotly_js.empty()),
                 overview_data(sweeps), kOverviewScript);
}

report::WrittenPage write_sweep_page(const fs::path& path, const Sweep& sweep, const fs::path& plotly) {
  const report::PlotlySource source = report::read_plotly(plotly);
  write_file_atomically(path, sweep_page(sweep, source.javascript, source.hint));
  return {path, source.hint};
}

report::WrittenPage write_sweeps_page(const fs::path& path, std::span<const Sweep> sweeps, const fs::path& plotly,
                                      const OverviewText& top) {
  const report::PlotlySource source = report::read_plotly(plotly);
  write_file_atomically(path, sweeps_page(sweeps, path.parent_path(), source.javascript, source.hint, top));
  return {path, source.hint};
}

}  // namespace evener::sweeps
