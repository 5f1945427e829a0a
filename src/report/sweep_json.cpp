// A sweep for other programs: schema "evener-sweep-report-1".
#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/sweep.h"

namespace evener::report {
namespace {

using ReportJson = nlohmann::ordered_json;

template <typename T>
ReportJson known_or_null(const std::optional<T>& value) {
  return value ? ReportJson(*value) : ReportJson(nullptr);
}

ReportJson ends_json(const std::optional<record::Interval>& interval) {
  return interval ? ReportJson{interval->low, interval->high} : ReportJson(nullptr);
}

ReportJson figure_json(const SweepFigure& figure) {
  std::vector<double> values;
  for (const record::BlockValue& one : figure.values) values.push_back(one.value);
  ReportJson json = {{"unit", figure.metric.unit},
                     {"better", record::better_name(figure.metric.better)},
                     {"mean", known_or_null(figure.mean.mean)},
                     {"range", ends_json(figure.mean.range)},
                     {"values", values}};
  if (is_of_energy(figure.metric)) json["class"] = record::energy_class_name(figure.energy);
  if (!figure.reason.empty()) json["reason"] = figure.reason;
  return json;
}

/// Of each run that was to reach an accuracy; null where it never did.
ReportJson to_accuracy_json(const SweepCellRuns& cell) {
  ReportJson times = ReportJson::array();
  for (const std::optional<double>& one : cell.to_accuracy_s) times.push_back(known_or_null(one));
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
                    {"seconds", known_or_null(run.seconds)},
                    {"folder", run.folder}});
  }
  const CellClaim& claim = cell.claim;
  return {{"name", cell.name},
          {"values", cell.cell.values},
          {"command", cell.cell.words},
          {"environment", cell.cell.environment},
          {"figures", figures},
          {"against", claim.base ? ReportJson(sweep.cells[*claim.base].name) : ReportJson(nullptr)},
          {"speedup", known_or_null(claim.speedup)},
          {"speedup_interval_95", ends_json(claim.interval)},
          {"p_corrected", known_or_null(claim.p)},
          {"verdict", claim.base ? ReportJson(verdict_word(claim.verdict)) : ReportJson(nullptr)},
          {"reason", claim.reason.empty() ? ReportJson(nullptr) : ReportJson(claim.reason)},
          {"runs_to_decide", known_or_null(claim.to_decide)},
          {"to_accuracy_s", to_accuracy_json(cell)},
          {"runs", runs}};
}

}  // namespace

std::string sweep_json(const Sweep& sweep) {
  ReportJson cells = ReportJson::array();
  for (const SweepCellRuns& cell : sweep.cells) cells.push_back(cell_report(sweep, cell));
  ReportJson winners = ReportJson::array(), to_decide = ReportJson::array();
  for (const JobClaim& job : sweep.jobs) {
    winners.push_back(job.winner ? ReportJson(sweep.cells[*job.winner].name) : ReportJson(nullptr));
    to_decide.push_back(known_or_null(job.to_decide));
  }
  const ReportJson json = {{"schema", "evener-sweep-report-1"},
                           {"name", sweep.name},
                           {"title", sweep.record.title},
                           {"stopping_rule", stopping_rule_text(sweep.record)},
                           {"main_figure", sweep.main_figure},
                           {"comparisons", sweep.claims},
                           {"winners", winners},
                           {"runs_to_decide", to_decide},
                           {"conclusion", sweep_conclusion(sweep)},
                           {"cells", cells},
                           {"reference", reference_plot_data(sweep.reference)},
                           {"notes", sweep.notes}};
  return json.dump(2, ' ', false, ReportJson::error_handler_t::replace) + "\n";
}

}  // namespace evener::report
