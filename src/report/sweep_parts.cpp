#include "report/sweep_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/names.h"
#include "base/plural.h"
#include "report/format.h"
#include "report/html_parts.h"
#include "report/html_table.h"
#include "report/sweep_scaling.h"

namespace evener::report {
namespace {

/// Whether a value is a number or a size such as "64x48", which can be drawn along an axis.
bool is_numeric(const std::string& value) {
  return !value.empty() && value.find_first_not_of("0123456789.x") == std::string::npos &&
         std::isdigit(static_cast<unsigned char>(value.front())) &&
         std::isdigit(static_cast<unsigned char>(value.back()));
}

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

HtmlTable runs_table(const SweepCellRuns& cell) {
  HtmlTable table{.columns = {{"block"}, {"began"}, {"time", true}, {"result"}, {"folder"}}};
  for (const record::SweepRun& run : cell.runs) {
    const std::string part = run.part == record::kMeasurePart ? "" : escape_html(run.part) + " ";
    const std::string how =
        run.reason.empty() ? run_end_name(run.end) : fmt::format("{}: {}", run_end_name(run.end), run.reason);
    table.rows.push_back({{{fmt::format("{}{}", part, run.block)},
                           {escape_html(run.began)},
                           {run.seconds ? duration_text(*run.seconds) : "–"},
                           {escape_html(how)},
                           {escape_html(run.folder)}}});
  }
  return table;
}

}  // namespace

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

std::vector<std::string> numeric_axes(const Sweep& sweep) {
  std::vector<std::string> names;
  for (const record::SweepAxis& axis : sweep.record.axes) {
    for (std::size_t n = 0; n < axis.names.size() && axis.steps.size() > 1; ++n) {
      if (std::ranges::all_of(axis.steps, [&](const auto& step) { return is_numeric(step[n]); }))
        names.push_back(axis.names[n]);
    }
  }
  return names;
}

std::string sweep_header_part(const Sweep& sweep) {
  std::string lead;
  for (const std::string& sentence : sweep_conclusion(sweep)) {
    const bool warns = sentence.starts_with("INVALID") || sentence.starts_with("Failed");
    lead += fmt::format("<p class=\"lead{}\">{}</p>", warns ? " warns" : "", escape_html(sentence));
  }
  constexpr std::size_t kMostLaws = 4;  // more are in the table only
  for (const SweepScaling& scaling : sweep.scalings) {
    if (sweep.scalings.size() > kMostLaws) break;
    const bool holds = std::ranges::all_of(scaling.cells, [&](std::size_t n) {
      return sweep.cells[n].not_comparable + sweep.cells[n].beside_others == 0;  // of others' threads it isn't the law
    });
    if (!holds) continue;
    if (const std::string text = scaling_sentence(scaling); !text.empty())
      lead += "<p class=\"lead\">" + escape_html(text) + "</p>";
  }
  std::size_t runs = 0;
  for (const SweepCellRuns& cell : sweep.cells) runs += cell.runs.size();
  std::string chips = fmt::format("<li>{}</li><li>{}</li>", counted(sweep.cells.size(), "cell"), counted(runs, "run"));
  if (const record::Record* record = any_record(sweep)) {
    chips += fmt::format("<li>{}</li><li>{} cores</li><li>{} memory</li>", escape_html(record->machine.cpu),
                         record->machine.cores, bytes_text(record->machine.memory_bytes));
  }
  if (!sweep.record.started.empty()) chips += "<li>started " + escape_html(sweep.record.started) + "</li>";
  return fmt::format(
      "<header><p class=\"brand\"><b>evener</b> sweep</p><h1>{}</h1>{}<ul class=\"chips\">{}</ul></header>",
      escape_html(sweep.record.title.empty() ? sweep.name : sweep.record.title), lead, chips);
}

std::string sweep_cells_part(const Sweep& sweep) {
  return "<section><h2>All cells</h2><p class=\"explain\">In square brackets: the range of the runs; in round ones 95 "
         "% "
         "intervals of ratios. Speedup is against the first cell that does the "
         "same work, by the ratio within each block.</p>" +
         table_html(sweep_table(sweep), true) + "</section>";
}

std::string reference_part(const Table& table, const std::string& explanation) {
  return "<section><h2>Published against measured</h2><p class=\"explain\">" + escape_html(explanation) +
         "</p><div class=\"needs-plots\"><div class=\"grid\">" +
         plot_card("ratios", "One way against another",
                   "How many times as fast (of EDP: as much) it was on one machine, there and here.") +
         plot_card("shares", "Accuracy", "Of the data that each had.") + "</div></div><div class=\"after\">" +
         table_html(table, true) + "</div></section>";
}

std::string sweep_reference_part(const Sweep& sweep) {
  if (sweep.reference.empty()) return "";
  return reference_part(reference_table(sweep.reference), reference_sentence(sweep.reference));
}

std::string sweep_plots_part(const Sweep& sweep) {
  std::string html = "<section class=\"needs-plots\"><h2>Side by side</h2><div class=\"grid\">";
  if (!sweep.main_figure.empty()) {
    html += plot_card("cells", "All cells", "Each dot is a run; the bar is the mean, with the range of the runs.");
  }
  for (std::size_t n = 0; n < sweep.scalings.size(); ++n) {
    html += plot_card(fmt::format("scaling-{}", n), "Speedup: " + sweep.scalings[n].name,
                      "Dotted: ideal. Line: Amdahl's law, fitted, with what its interval allows.");
  }
  for (const std::string& axis : numeric_axes(sweep)) {
    html += plot_card("over-" + escape_html(axis), "Over " + axis,
                      "Means with the ranges of their runs; a line for each of the other values.");
  }
  if (std::ranges::any_of(sweep.cells, [](const SweepCellRuns& cell) { return cell.cell.predicted.has_value(); })) {
    html += plot_card("predicted", "Predicted against measured",
                      "What 'evener plan' said before, and what came; on the dotted line they are the same.");
  }
  const std::vector<FrontPlot> fronts = front_plots(sweep);
  for (std::size_t n = 0; n < fronts.size(); ++n) {
    html += plot_card(fmt::format("front-{}", n), fmt::format("{} against {}", fronts[n].y, fronts[n].x),
                      "Filled: cells that no other beats by the whole 95 % interval of their ratio.");
  }
  html += "</div>";
  if (sweep.cells.size() > 1) {
    html +=
        "<div class=\"card after\"><div class=\"plot-head\"><h3>Pivot</h3><span class=\"controls\" "
        "id=\"pivot-controls\">"
        "</span></div><p class=\"explain\">Means over the other axes (geometric where all are above 0).</p>"
        "<div class=\"scroll\"><table id=\"pivot\" class=\"everything\"></table></div></div>";
  }
  return html + "</section>";
}

std::string sweep_scaling_part(const Sweep& sweep) {
  if (sweep.scalings.empty()) return "";
  return "<section><h2>Scaling</h2><p class=\"explain\">Speedup and efficiency are against the fewest workers, by the "
         "ratio "
         "within each block; Karp-Flatt is the serial fraction that alone would explain it. Amdahl: the speedup of the "
         "fitted "
         "law; Gustafson: that of work which grows with the workers.</p>" +
         table_html(scaling_table(sweep), false) + "</section>";
}

std::string sweep_runs_part(const Sweep& sweep) {
  std::string html = "<section><h2>Runs</h2><div class=\"card\">";
  for (const SweepCellRuns& cell : sweep.cells) {
    std::vector<std::string> command;
    for (const auto& [name, value] : cell.cell.environment) command.push_back(name + "=" + value);
    command.emplace_back("evener");
    command.insert(command.end(), cell.cell.words.begin(), cell.cell.words.end());
    html += fmt::format("<details><summary>{}: {}</summary><pre>{}</pre>{}</details>", escape_html(cell.name),
                        counted(cell.runs.size(), "run"), command_html(command), runs_table(cell).scrolled());
  }
  return html + "</div></section>";
}

std::string sweep_method_part(const Sweep& sweep) {
  const record::SweepRecord& record = sweep.record;
  Facts facts = {{"order", fmt::format("randomised complete blocks, drawn by order-seed {}", record.order_seed)},
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
  return fmt::format("<section><h2>How it was measured</h2><div class=\"card\">{}<pre>{}</pre></div></section>",
                     facts_html(facts), command_html(record.words));
}

}  // namespace evener::report
