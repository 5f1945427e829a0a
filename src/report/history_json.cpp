#include <nlohmann/json.hpp>

#include "report/history.h"
#include "report/json_value.h"

namespace evener::report {
namespace {

using nlohmann::ordered_json;

ordered_json run_json(const HistorySeries& series, const HistoryRun& run) {
  const record::Record& record = run.record;
  ordered_json json = {{"folder", run.folder.string()},
                       {"started", record.started},
                       {"versions", record.versions},
                       {"engine", record.engine},
                       {"valid", value_or_null(record.validity.valid)},
                       {"left_out", run.left_out.empty() ? ordered_json(nullptr) : ordered_json(run.left_out)}};
  for (const HistoryFigure& figure : series.figures) {
    const record::Metric* metric = record::find_metric(run.metrics, figure.metric.name);
    json["figures"][figure.metric.name] = metric == nullptr ? ordered_json(nullptr) : value_or_null(metric->value);
  }
  return json;
}

ordered_json figure_json(const HistoryFigure& figure) {
  const record::Metric& metric = figure.metric;
  ordered_json json = {{"name", metric.name},
                       {"label", metric.label},
                       {"unit", metric.unit},
                       {"better", record::better_name(metric.better)},
                       {"role", record::role_name(metric.role)},
                       {"runs", figure.runs},
                       {"runs_missing", figure.runs_missing},
                       {"levels", ordered_json::array()},
                       {"changes", ordered_json::array()},
                       {"drift", nullptr}};
  for (const HistoryLevel& level : figure.levels) {
    json["levels"].push_back({{"first_run", figure.runs[level.first]},
                              {"last_run", figure.runs[level.last]},
                              {"first", level.first_value},
                              {"last", level.last_value}});
  }
  for (const HistoryChange& change : figure.changes) {
    json["changes"].push_back(
        {{"first_run", figure.runs[change.at]},
         {"before", change.before},
         {"after", change.after},
         {"change", change.change},
         {"interval_95", ends_or_null(change.interval)},
         {"p", change.p},
         {"text", change_size(metric, change.change) + " " + change_word(metric, change.change)}});
  }
  if (figure.drift) {
    json["drift"] = {{"change", figure.drift->change},
                     {"interval_95", ends_or_null(figure.drift->interval)},
                     {"p", figure.drift->p}};
  }
  return json;
}

}  // namespace

std::string history_json(const History& history, const std::vector<std::string>& failures) {
  ordered_json json = {{"schema", "evener-history-1"},
                       {"tests", history.tests},
                       {"series", ordered_json::array()},
                       {"failures", failures},
                       {"notes", history.notes}};
  for (const HistorySeries& series : history.series) {
    ordered_json one = {{"cell", series.cell},
                        {"machine", series.machine},
                        {"runs", ordered_json::array()},
                        {"figures", ordered_json::array()},
                        {"sentences", history_sentences(series)}};
    for (const HistoryRun& run : series.runs) one["runs"].push_back(run_json(series, run));
    for (const HistoryFigure& figure : series.figures) one["figures"].push_back(figure_json(figure));
    json["series"].push_back(std::move(one));
  }
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace evener::report
