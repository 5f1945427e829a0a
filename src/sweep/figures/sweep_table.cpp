// A sweep as tables, as CSV with a row for each run, and as JSON (schema "evener-sweep-report-1").
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/statistics.h"
#include "report/figures.h"
#include "report/format.h"
#include "sweep/figures/sweep.h"
#include "sweep/figures/sweep_claims.h"
#include "sweep/figures/sweep_page.h"

namespace evener::sweeps {
namespace {

using record::Metric;

constexpr const char* kNothing = "-";

/// Figures that tables of sweeps show, but not tables of single runs.
constexpr std::pair<const char*, const char*> kAlsoShown[] = {{"total_s", "time s"}, {"edp_joule_seconds", "EDP J s"}};

std::string title_in_sweep(const Metric& metric) {
  for (const auto& [name, title] : kAlsoShown) {
    if (metric.name == name) return title;
  }
  return metric.title;
}

/// The figures that have a value in any cell, with their titles, the main one first, each once.
std::vector<std::pair<std::string, std::string>> shown_figures(const Sweep& sweep) {
  std::vector<std::pair<std::string, std::string>> shown;
  const auto add = [&](const std::string& name, const std::string& title) {
    const bool known = std::ranges::any_of(shown, [&](const auto& one) { return one.first == name; });
    const bool has_values = std::ranges::any_of(sweep.cells, [&](const SweepCellRuns& cell) {
      const SweepFigure* figure = cell.figure(name);
      return figure != nullptr && !figure->values.empty();
    });
    if (!known && has_values && !title.empty()) shown.emplace_back(name, title);
  };
  for (const SweepCellRuns& cell : sweep.cells) {
    if (const SweepFigure* main = cell.figure(sweep.main_figure)) add(main->metric.name, title_in_sweep(main->metric));
  }
  for (const SweepCellRuns& cell : sweep.cells) {
    for (const SweepFigure& figure : cell.figures) add(figure.metric.name, title_in_sweep(figure.metric));
  }
  return shown;
}

std::string value_text(const Metric& like, double value) {
  Metric metric = like;
  metric.value = value;
  return report::cell_text(metric, kNothing);
}

/// "3", or "3 + 2 for energy", whose speeds and times don't count.
std::string runs_text(const Sweep& sweep, const SweepCellRuns& cell) {
  const std::size_t all = cell.done + cell.invalid;
  if (sweep.record.energy_repeats == 0) return std::to_string(all);
  const auto for_energy = static_cast<std::size_t>(std::ranges::count_if(cell.runs, [](const record::SweepRun& run) {
    return run.part == record::kEnergyPart && record::has_figures(run.end);
  }));
  return fmt::format("{} + {} for energy", all - for_energy, for_energy);
}

/// "VALID", "beside others", "2 of 5 INVALID", "failed: out of memory".
std::string state_text(const SweepCellRuns& cell) {
  std::string text;
  for (const record::SweepRun& run : cell.runs) {
    if (!record::has_figures(run.end)) text = run_end_name(run.end);
  }
  if (const std::size_t invalid = cell.invalid - cell.in_passing; invalid > 0) {
    text += fmt::format("{}{} of {} INVALID", text.empty() ? "" : ", ", invalid, cell.done + cell.invalid);
  }
  // Short, so that the table fits a terminal: the conclusion says how much others took.
  const std::string words = cell.beside_others > 0 ? "beside others" : report::listed(cell.words);
  if (!words.empty()) text += (text.empty() ? "" : ", ") + words;
  if (!text.empty()) return text;
  return cell.done > 0 ? "VALID" : "not run yet";
}

/// The median time to --until-accuracy; runs that never reached it count as the longest. "12.1 s (1 of 3 runs never)",
/// "never (3 of 3 runs)".
std::string to_accuracy_text(const SweepCellRuns& cell) {
  std::vector<double> times;
  for (const std::optional<double>& one : cell.to_accuracy_s) {
    times.push_back(one.value_or(std::numeric_limits<double>::infinity()));
  }
  if (times.empty()) return kNothing;
  const auto never = std::ranges::count_if(cell.to_accuracy_s, [](const auto& one) { return !one; });
  const double middle = *median(times);
  const std::string text = std::isfinite(middle) ? duration_text(middle) : "never";
  return never == 0 ? text
                    : fmt::format("{} ({} of {}{})", text, never, counted(times.size(), "run"),
                                  std::isfinite(middle) ? " never" : "");
}

constexpr const char* kEnergyFigure = "energy_joules";

/// The class of the cell's energies: "estimated".
std::string energy_class_of(const SweepCellRuns& cell) {
  const SweepFigure* figure = cell.figure(kEnergyFigure);
  return figure == nullptr || figure->values.empty() ? kNothing : record::energy_class_name(figure->energy);
}

/// "26.1 images/s (-3 %)": the prediction and its deviation from the measurement.
std::string prediction_text(const Sweep& sweep, const SweepCellRuns& cell) {
  if (!cell.cell.predicted) return kNothing;
  const double predicted = cell.cell.predicted->images_per_s;
  const SweepFigure* speed = cell.figure("images_per_s");
  const bool measured = sweep.main_figure == "images_per_s" && speed != nullptr && speed->mean.mean;
  return report::number_text(predicted) +
         (measured ? fmt::format(" ({:+.0f} %)", 100 * (predicted / *speed->mean.mean - 1)) : "");
}

std::vector<std::string> axis_names(const Sweep& sweep) {
  std::vector<std::string> names;
  for (const record::SweepAxis& axis : sweep.record.axes) {
    if (axis.steps.size() > 1 || sweep.cells.size() == 1)
      names.insert(names.end(), axis.names.begin(), axis.names.end());
  }
  return names;
}

std::string value_on(const SweepCellRuns& cell, const std::string& axis) {
  const auto found = cell.cell.values.find(axis);
  return found == cell.cell.values.end() ? "" : found->second;
}

void add_notes(const Sweep& sweep, report::Table& table) {
  for (const SweepCellRuns& cell : sweep.cells) {
    for (const record::SweepRun& run : cell.runs) {
      if (record::has_figures(run.end)) continue;
      table.notes.push_back(
          fmt::format("{}, block {}: {}: {}", cell.name, run.block, run_end_name(run.end), run.reason));
    }
    const CellClaim& claim = cell.claim;
    if (claim.interval && (!claim.p || (claim.unseen && claim.verdict == record::Verdict::kUndecided))) {
      table.notes.push_back(
          fmt::format("{} against {} is undecided: {}", cell.name, sweep.cells[*claim.base].name, claim.reason));
    }
  }
  table.notes.insert(table.notes.end(), sweep.notes.begin(), sweep.notes.end());
}

/// The names of all runs' figures, in the order of the cells.
std::vector<std::string> all_figures(const Sweep& sweep) {
  std::vector<std::string> names;
  for (const SweepCellRuns& cell : sweep.cells) {
    for (const SweepFigure& figure : cell.figures) {
      if (std::ranges::find(names, figure.metric.name) == names.end()) names.push_back(figure.metric.name);
    }
  }
  return names;
}

using ReportJson = nlohmann::ordered_json;

ReportJson figure_json(const SweepFigure& figure) {
  ReportJson values = ReportJson::array(), blocks = ReportJson::array();
  for (const record::BlockValue& one : figure.values) {
    values.push_back(one.value);
    blocks.push_back(one.block);
  }
  ReportJson json = {{"unit", figure.metric.unit},
                     {"better", record::better_name(figure.metric.better)},
                     {"mean", report::value_or_null(figure.mean.mean)},
                     {"range", report::ends_or_null(figure.mean.range)},
                     {"values", values},
                     {"blocks", blocks}};
  if (is_of_energy(figure.metric)) json["class"] = record::energy_class_name(figure.energy);
  if (!figure.reason.empty()) json["reason"] = figure.reason;
  return json;
}

/// For each run with --until-accuracy the seconds it took; null if it never reached the accuracy.
ReportJson to_accuracy_json(const SweepCellRuns& cell) {
  ReportJson times = ReportJson::array();
  for (const std::optional<double>& one : cell.to_accuracy_s) times.push_back(report::value_or_null(one));
  return times;
}

ReportJson cell_report(const Sweep& sweep, const SweepCellRuns& cell) {
  ReportJson figures = ReportJson::object();
  for (const SweepFigure& figure : cell.figures) {
    if (!figure.values.empty()) figures[figure.metric.name] = figure_json(figure);
  }
  ReportJson runs = ReportJson::array();
  for (const record::SweepRun& run : cell.runs) {
    runs.push_back({{"block", run.block},
                    {"part", run.part},
                    {"status", run_end_name(run.end)},
                    {"reason", run.reason.empty() ? ReportJson(nullptr) : ReportJson(run.reason)},
                    {"seconds", report::value_or_null(run.seconds)},
                    {"folder", run.folder}});
  }
  const CellClaim& claim = cell.claim;
  return {{"name", cell.name},
          {"values", cell.cell.values},
          {"command", cell.cell.words},
          {"environment", cell.cell.environment},
          {"figures", figures},
          {"predicted_images_per_s",
           cell.cell.predicted ? ReportJson(cell.cell.predicted->images_per_s) : ReportJson(nullptr)},
          {"against", claim.base ? ReportJson(sweep.cells[*claim.base].name) : ReportJson(nullptr)},
          {"speedup", report::value_or_null(claim.speedup)},
          {"speedup_interval_95", report::ends_or_null(claim.interval)},
          {"speedup_of_the_whole", report::value_or_null(claim.whole)},
          {"p_corrected", report::value_or_null(claim.p)},
          {"verdict", claim.base ? ReportJson(verdict_word(claim.verdict)) : ReportJson(nullptr)},
          {"beside_other_programs", claim.beside != BesideOthers::kNo},
          {"at_equal_load", claim.at_equal_load},
          {"others_percent", report::value_or_null(load_beside({&cell}))},
          {"reason", claim.reason.empty() ? ReportJson(nullptr) : ReportJson(claim.reason)},
          {"runs_to_decide", report::value_or_null(claim.to_decide)},
          {"to_accuracy_s", to_accuracy_json(cell)},
          {"runs", runs}};
}

/// The axes with several values: each name with its values.
ReportJson axes_json(const record::SweepRecord& record) {
  ReportJson axes = ReportJson::array();
  for (const record::SweepAxis& axis : record.axes) {
    for (std::size_t n = 0; n < axis.names.size() && axis.steps.size() > 1; ++n) {
      ReportJson values = ReportJson::array();
      for (const auto& step : axis.steps) {
        if (std::find(values.begin(), values.end(), step[n]) == values.end()) values.push_back(step[n]);
      }
      axes.push_back({{"name", axis.names[n]}, {"values", std::move(values)}});
    }
  }
  return axes;
}

ReportJson scaling_json(const SweepScaling& of) {
  ReportJson workers = ReportJson::array();
  for (const record::WorkersScaling& one : of.scaling.workers) {
    ReportJson speedup = nullptr;
    if (one.speedup)
      speedup = {{"mean", one.speedup->mean}, {"interval_95", report::ends_or_null(one.speedup->interval)}};
    workers.push_back({{"workers", one.workers}, {"speedup", std::move(speedup)}});
  }
  const auto& fit = of.scaling.fit;
  return {{"name", of.name},
          {"workers", std::move(workers)},
          {"serial_share", fit ? ReportJson(fit->serial_share) : ReportJson(nullptr)},
          {"serial_share_interval_95", report::ends_or_null(of.scaling.share_interval)}};
}

}  // namespace

std::string mean_text(const SweepFigure& figure, bool with_spread) {
  if (!figure.mean.mean) return kNothing;
  std::string text = value_text(figure.metric, *figure.mean.mean);
  if (!with_spread || figure.mean.runs < 2) return text;
  const record::Interval& range = *figure.mean.range;
  if (range.low == range.high) return text + " in each run";  // e.g. accuracies with the same seed
  return fmt::format("{} [{} to {}]", text, value_text(figure.metric, range.low),
                     value_text(figure.metric, range.high));
}

std::string unit_behind(const SweepFigure& figure) {
  const bool has_unit = figure.metric.unit == "share" || figure.metric.unit == "bytes" || figure.metric.unit == "J";
  return has_unit || figure.metric.unit.empty() ? "" : " " + figure.metric.unit;
}

std::string verdict_text(record::Verdict verdict, BesideOthers beside) {
  const bool is_beside = verdict != record::Verdict::kUndecided && beside != BesideOthers::kNo;
  return std::string(verdict_word(verdict)) + (is_beside ? " beside others" : "");
}

const char* verdict_word(record::Verdict verdict) {
  if (verdict == record::Verdict::kUndecided) return "undecided";
  return verdict == record::Verdict::kFaster ? "faster" : "slower";
}

std::string speedup_text(const CellClaim& claim) {
  if (!claim.speedup) return kNothing;
  const std::string text = report::number_text(*claim.speedup) + "x";
  if (!claim.interval) return text;
  return fmt::format("{} ({} to {})", text, report::number_text(claim.interval->low),
                     report::number_text(claim.interval->high));
}

report::Table sweep_table(const Sweep& sweep) {
  report::Table table;
  const std::vector<std::string> axes = axis_names(sweep);
  const auto figures = shown_figures(sweep);
  for (const std::string& axis : axes) table.columns.push_back({axis, false});
  table.columns.push_back({"runs", true});
  for (const auto& [name, title] : figures) {
    table.columns.push_back({title, true});
    if (name == kEnergyFigure) table.columns.push_back({"energy is", false});
    if (name != sweep.main_figure || sweep.cells.size() < 2) continue;
    table.columns.push_back({"speedup", true});
    table.columns.push_back({"verdict", false});
  }
  const bool predicted =
      std::ranges::any_of(sweep.cells, [](const SweepCellRuns& cell) { return cell.cell.predicted.has_value(); });
  if (predicted) table.columns.push_back({"predicted", true});
  const bool to_accuracy =
      std::ranges::any_of(sweep.cells, [](const SweepCellRuns& cell) { return !cell.to_accuracy_s.empty(); });
  if (to_accuracy) table.columns.push_back({"to accuracy", true});
  table.columns.push_back({"state", false});
  for (const SweepCellRuns& cell : sweep.cells) {
    std::vector<std::string>& row = table.rows.emplace_back();
    for (const std::string& axis : axes) row.push_back(shown_value(sweep.record.axes, axis, value_on(cell, axis)));
    row.push_back(runs_text(sweep, cell));
    for (const auto& [name, title] : figures) {
      const SweepFigure* figure = cell.figure(name);
      row.push_back(figure == nullptr ? kNothing : mean_text(*figure, name == sweep.main_figure));
      if (name == kEnergyFigure) row.push_back(energy_class_of(cell));
      if (name != sweep.main_figure || sweep.cells.size() < 2) continue;
      row.push_back(cell.claim.base ? speedup_text(cell.claim) : cell.record ? "1x, the base" : kNothing);
      row.push_back(cell.claim.base ? verdict_word(cell.claim.verdict) : kNothing);
    }
    if (predicted) row.push_back(prediction_text(sweep, cell));
    if (to_accuracy) row.push_back(to_accuracy_text(cell));
    row.push_back(state_text(cell));
  }
  add_notes(sweep, table);
  return table;
}

std::string sweep_csv(const Sweep& sweep) {
  const std::vector<std::string> axes = axis_names(sweep), figures = all_figures(sweep);
  std::vector<std::string> titles = axes;
  for (const char* title : {"block", "part", "began", "status", "seconds", "reason", "folder"})
    titles.emplace_back(title);
  for (const std::string& name : figures) {
    titles.push_back(name);
    if (name == kEnergyFigure) titles.emplace_back("energy_class");
  }
  std::string text = csv_line(titles);
  for (const SweepCellRuns& cell : sweep.cells) {
    for (std::size_t n = 0; n < cell.runs.size(); ++n) {
      const record::SweepRun& run = cell.runs[n];
      std::vector<std::string> row;
      for (const std::string& axis : axes) row.push_back(value_on(cell, axis));
      for (const std::string& word :
           {std::to_string(run.block), run.part, run.began, std::string(run_end_name(run.end)),
            run.seconds ? fmt::format("{}", *run.seconds) : "", run.reason, run.folder}) {
        row.push_back(word);
      }
      for (const std::string& name : figures) {
        const SweepFigure* figure = cell.figure(name);
        const bool counts = figure != nullptr && counts_in(sweep.record, figure->metric, run.part);
        const auto* values = counts && record::has_figures(run.end) ? &figure->values : nullptr;
        const auto value = values == nullptr ? std::vector<record::BlockValue>::const_iterator()
                                             : std::ranges::find(*values, run.block, &record::BlockValue::block);
        const bool is_known = values != nullptr && value != values->end();
        row.push_back(is_known ? fmt::format("{}", value->value) : "");
        if (name == kEnergyFigure) row.emplace_back(is_known ? record::energy_class_name(cell.energies[n]) : "");
      }
      text += csv_line(row);
    }
  }
  return text;
}

nlohmann::ordered_json sweep_report(const Sweep& sweep) {
  ReportJson figures = ReportJson::array(), cells = ReportJson::array(), fronts = ReportJson::array(),
             scalings = ReportJson::array(), winners = ReportJson::array(), to_decide = ReportJson::array();
  for (const record::Metric& metric : sweep_metrics(sweep)) {
    figures.push_back({{"name", metric.name},
                       {"label", metric.label},
                       {"unit", metric.unit},
                       {"better", record::better_name(metric.better)}});
  }
  for (const SweepCellRuns& cell : sweep.cells) cells.push_back(cell_report(sweep, cell));
  for (const FrontPlot& plot : front_plots(sweep)) {
    fronts.push_back({{"x", plot.x}, {"y", plot.y}, {"front", front_of(sweep, plot.x, plot.y)}});
  }
  for (const SweepScaling& scaling : sweep.scalings) scalings.push_back(scaling_json(scaling));
  for (const JobClaim& job : sweep.jobs) {
    winners.push_back(job.winner ? ReportJson(sweep.cells[*job.winner].name) : ReportJson(nullptr));
    to_decide.push_back(report::value_or_null(job.to_decide));
  }
  return {{"schema", "evener-sweep-report-1"},
          {"name", sweep.name},
          {"title", sweep.record.title},
          {"stopping_rule", stopping_rule_text(sweep.record)},
          {"main_figure", sweep.main_figure},
          {"comparisons", sweep.claims},
          {"winners", winners},
          {"runs_to_decide", to_decide},
          {"conclusion", sweep_conclusion(sweep)},
          {"figures", figures},
          {"axes", axes_json(sweep.record)},
          {"cells", cells},
          {"fronts", fronts},
          {"scalings", scalings},
          {"reference", reference_plot_data(sweep.reference)},
          {"notes", sweep.notes}};
}

std::string sweep_json(const Sweep& sweep) {
  return sweep_report(sweep).dump(2, ' ', false, ReportJson::error_handler_t::replace) + "\n";
}

}  // namespace evener::sweeps
