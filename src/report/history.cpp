#include "report/history.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/plural.h"
#include "base/statistics.h"
#include "record/repeats.h"
#include "report/history_runs.h"

namespace evener::report {
namespace {

using record::Metric;
using record::MetricRole;

/// Costs whose history is told beside speeds and qualities.
bool is_told(const Metric& metric) {
  if (metric.name == "peak_rss_bytes" || metric.name == "energy_joules") return true;
  return metric.role != MetricRole::kCost && !metric.title.empty();
}

/// The run's value of a figure. Energies of another class than `energy` are another figure.
std::optional<double> value_in(const HistoryRun& run, const std::string& name, record::EnergyClass energy) {
  const Metric* metric = record::find_metric(run.metrics, name);
  if (metric == nullptr || !metric->value) return std::nullopt;
  const bool is_other = name == "energy_joules" && run.record.energy.kind != energy;
  return is_other ? std::nullopt : metric->value;
}

/// The class of the latest energy that is known.
record::EnergyClass energy_class_of(const HistorySeries& series) {
  record::EnergyClass latest = record::EnergyClass::kAbsent;
  for (const HistoryRun& run : series.runs) {
    if (run.record.energy.joules) latest = run.record.energy.kind;
  }
  return latest;
}

void add_figure(HistorySeries& series, const Metric& metric) {
  HistoryFigure figure{.metric = metric};
  figure.metric.value.reset();
  const record::EnergyClass energy = energy_class_of(series);
  for (std::size_t n = 0; n < series.runs.size(); ++n) {
    if (!series.runs[n].left_out.empty()) continue;
    const auto value = value_in(series.runs[n], metric.name, energy);
    if (!value || !std::isfinite(*value)) continue;
    figure.runs.push_back(n);
    figure.values.push_back(*value);
  }
  if (figure.values.empty()) return;
  if (figure.values.size() < record::kFewestSamples)
    figure.runs_missing = record::kFewestSamples - figure.values.size();
  series.figures.push_back(std::move(figure));
}

/// Takes the figures from the latest runs first, which are the ones that are asked about.
void add_figures(HistorySeries& series) {
  std::set<std::string> known;
  for (auto run = series.runs.rbegin(); run != series.runs.rend(); ++run) {
    for (const Metric& metric : run->metrics) {
      if (!is_told(metric) || !metric.value || !known.insert(metric.name).second) continue;
      add_figure(series, metric);
    }
  }
  std::erase_if(series.figures, [&](const HistoryFigure& figure) {
    return !figure.metric.stands_in_for.empty() && known.contains(figure.metric.stands_in_for);
  });
  std::ranges::stable_sort(series.figures, {}, [](const HistoryFigure& figure) { return figure.metric.role; });
}

/// Whether the noise of a figure is relative, so that its changes are factors.
bool is_relative(const HistoryFigure& figure) {
  return figure.metric.unit != "share" && std::ranges::all_of(figure.values, [](double value) { return value > 0; });
}

/// A difference as a change: relative where it is one of logarithms.
double change_of(const HistoryFigure& figure, double difference) {
  return is_relative(figure) ? std::expm1(difference) : difference;
}

std::optional<record::Interval> change_of(const HistoryFigure& figure,
                                          const std::optional<record::Interval>& interval) {
  if (!interval) return std::nullopt;
  return record::Interval{change_of(figure, interval->low), change_of(figure, interval->high)};
}

/// A figure's values as differences are taken of them.
std::vector<double> compared_values(const HistoryFigure& figure) {
  std::vector<double> values = figure.values;
  if (is_relative(figure)) {
    for (double& value : values) value = std::log(value);
  }
  return values;
}

void take_drift(HistoryFigure& figure, const record::Drift& drift) {
  const auto steps = static_cast<double>(figure.values.size() - 1);
  figure.drift = HistoryDrift{.p = drift.p, .change = change_of(figure, drift.per_value * steps), .interval = {}};
  if (!drift.interval) return;
  figure.drift->interval =
      change_of(figure, record::Interval{drift.interval->low * steps, drift.interval->high * steps});
}

/// The level from one run to another, of values without the drift.
HistoryLevel level_of(const HistoryFigure& figure, std::span<const double> values, std::size_t first, std::size_t end,
                      double drift_per_value) {
  const double level = *median(values.subspan(first, end - first));
  const auto told = [&](std::size_t n) {
    const double value = level + drift_per_value * static_cast<double>(n);
    return is_relative(figure) ? std::exp(value) : value;
  };
  return {.first = first, .last = end - 1, .first_value = told(first), .last_value = told(end - 1)};
}

void take_changes(HistoryFigure& figure, const record::SeriesChanges& found) {
  std::vector<double> values = compared_values(figure);
  const double per_value = found.drift ? found.drift->per_value : 0;
  if (found.drift) take_drift(figure, *found.drift);
  for (std::size_t n = 0; n < values.size(); ++n) values[n] -= per_value * static_cast<double>(n);
  const std::span<const double> all = values;
  std::vector<std::size_t> ends;
  for (const record::ChangePoint& point : found.points) ends.push_back(point.index);
  ends.push_back(values.size());
  for (std::size_t n = 0, first = 0; n < ends.size(); first = ends[n++]) {
    figure.levels.push_back(level_of(figure, all, first, ends[n], per_value));
    if (n == 0) continue;
    const HistoryLevel& before = figure.levels[n - 1];
    const record::Shift shift =
        record::shift_of(all.subspan(before.first, first - before.first), all.subspan(first, ends[n] - first));
    figure.changes.push_back({.at = first,
                              .p = found.points[n - 1].p,
                              .before = before.last_value,
                              .after = figure.levels[n].first_value,
                              .change = change_of(figure, shift.by),
                              .interval = change_of(figure, shift.interval)});
  }
}

/// Corrects the p-values of all figures for the number of tests, and drops what can't be told then.
void find_all_changes(History& history) {
  std::vector<HistoryFigure*> figures;
  for (HistorySeries& series : history.series) {
    for (HistoryFigure& figure : series.figures) {
      if (figure.runs_missing == 0) figures.push_back(&figure);
    }
  }
  // A p-value must be able to become as small as the correction for two tests of each figure asks for.
  const std::size_t permutations = std::clamp<std::size_t>(80 * figures.size(), record::kPermutations, 19'999);
  std::vector<record::SeriesChanges> found;
  for (const HistoryFigure* figure : figures) {
    found.push_back(record::find_changes(compared_values(*figure), permutations));
  }
  history.tests = record::correct_together(found);
  for (std::size_t n = 0; n < figures.size(); ++n) take_changes(*figures[n], found[n]);
}

void note_left_out(History& history) {
  std::map<std::string, std::size_t> reasons;
  std::set<std::string> machines;
  for (const HistorySeries& series : history.series) {
    machines.insert(series.machine);
    for (const HistoryRun& run : series.runs) reasons[run.left_out] += !run.left_out.empty();
  }
  for (const auto& [reason, count] : reasons) {
    if (count == 0) continue;
    history.notes.push_back(counted(count, "run") + " not counted: " + reason +
                            (reason.starts_with("INVALID") ? " (--count-invalid counts them)" : ""));
  }
  if (machines.size() > 1) {
    history.notes.push_back(std::to_string(machines.size()) + " machines: their runs are kept apart");
  }
}

}  // namespace

bool is_day(const std::string& text) {
  const std::string form = "0000-00-00";
  return text.size() == form.size() && std::ranges::equal(text, form, [](char c, char wanted) {
           return wanted == '0' ? std::isdigit(static_cast<unsigned char>(c)) != 0 : c == wanted;
         });
}

History history_of(std::vector<HistoryRun> runs) {
  History history;
  history.series = series_of(std::move(runs));
  for (HistorySeries& series : history.series) add_figures(series);
  find_all_changes(history);
  note_left_out(history);
  return history;
}

History load_history(const std::vector<std::filesystem::path>& folders, const HistoryChoice& choice) {
  std::vector<std::string> notes;
  std::vector<HistoryRun> runs = find_history_runs(folders, choice, notes);
  if (runs.empty()) {
    std::string why = "there is no run in or below the given folders";
    for (const std::string& note : notes) why += "; " + note;
    throw UsageError(why + ". A run is a folder with a record.json, as --out leaves one");
  }
  History history = history_of(std::move(runs));
  history.notes.insert(history.notes.begin(), notes.begin(), notes.end());
  return history;
}

}  // namespace evener::report
