// A sweep as JSON for other programs and for the plots of its page: schema "evener-sweep-report-1".
#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/json_value.h"
#include "report/sweep.h"
#include "report/sweep_claims.h"
#include "report/sweep_load.h"
#include "report/sweep_parts.h"

namespace evener::report {
namespace {

using ReportJson = nlohmann::ordered_json;

ReportJson figure_json(const SweepFigure& figure) {
  ReportJson values = ReportJson::array(), blocks = ReportJson::array();
  for (const record::BlockValue& one : figure.values) {
    values.push_back(one.value);
    blocks.push_back(one.block);
  }
  ReportJson json = {{"unit", figure.metric.unit},
                     {"better", record::better_name(figure.metric.better)},
                     {"mean", value_or_null(figure.mean.mean)},
                     {"range", ends_or_null(figure.mean.range)},
                     {"values", values},
                     {"blocks", blocks}};
  if (is_of_energy(figure.metric)) json["class"] = record::energy_class_name(figure.energy);
  if (!figure.reason.empty()) json["reason"] = figure.reason;
  return json;
}

/// For each run with --until-accuracy the seconds it took; null if it never reached the accuracy.
ReportJson to_accuracy_json(const SweepCellRuns& cell) {
  ReportJson times = ReportJson::array();
  for (const std::optional<double>& one : cell.to_accuracy_s) times.push_back(value_or_null(one));
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
                    {"seconds", value_or_null(run.seconds)},
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
          {"speedup", value_or_null(claim.speedup)},
          {"speedup_interval_95", ends_or_null(claim.interval)},
          {"p_corrected", value_or_null(claim.p)},
          {"verdict", claim.base ? ReportJson(verdict_word(claim.verdict)) : ReportJson(nullptr)},
          {"beside_other_programs", claim.beside != BesideOthers::kNo},
          {"at_equal_load", claim.at_equal_load},
          {"others_percent", value_or_null(load_beside({&cell}))},
          {"reason", claim.reason.empty() ? ReportJson(nullptr) : ReportJson(claim.reason)},
          {"runs_to_decide", value_or_null(claim.to_decide)},
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
    if (one.speedup) speedup = {{"mean", one.speedup->mean}, {"interval_95", ends_or_null(one.speedup->interval)}};
    workers.push_back({{"workers", one.workers}, {"speedup", std::move(speedup)}});
  }
  const auto& fit = of.scaling.fit;
  return {{"name", of.name},
          {"workers", std::move(workers)},
          {"serial_share", fit ? ReportJson(fit->serial_share) : ReportJson(nullptr)},
          {"serial_share_interval_95", ends_or_null(of.scaling.share_interval)}};
}

}  // namespace

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
    to_decide.push_back(value_or_null(job.to_decide));
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

}  // namespace evener::report
