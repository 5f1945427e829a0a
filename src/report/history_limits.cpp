#include "report/history_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/csv.h"
#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"

namespace evener::report {
namespace {

using record::MetricRole;
using What = HistoryLimit::What;

constexpr std::pair<const char*, What> kNames[] = {
    {"slower", What::kSlower}, {"memory", What::kMemory}, {"accuracy", What::kAccuracy}, {"energy", What::kEnergy}};

What what_of(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [text, what] : kNames) {
    if (name == text) return what;
    known.emplace_back(text);
  }
  throw UsageError("--fail-on: " + unknown_name_message("figure", name, known));
}

HistoryLimit parse_limit(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    throw UsageError(fmt::format("--fail-on {}: it needs a limit in percent, as in slower=5%", quoted_text(text)));
  }
  HistoryLimit limit{.what = what_of(text.substr(0, equals))};
  const std::string number = text.substr(equals + 1);
  const auto percent = number.ends_with('%') ? to_number<double>(number.substr(0, number.size() - 1)) : std::nullopt;
  if (!percent || !(*percent >= 0 && *percent < 1000)) {
    throw UsageError(fmt::format("--fail-on {}: {} is no percentage from 0% on, as in {}=5%", quoted_text(text),
                                 quoted_text(number), text.substr(0, equals)));
  }
  limit.share = *percent / 100;
  return limit;
}

bool is_about(What what, const HistorySeries& series, const HistoryFigure& figure) {
  switch (what) {
    case What::kSlower:
      return figure.metric.role == MetricRole::kSpeed && &figure == &series.figures.front();
    case What::kMemory:
      return figure.metric.name == "peak_rss_bytes";
    case What::kAccuracy:
      return figure.metric.role == MetricRole::kQuality;
    case What::kEnergy:
      break;
  }
  return figure.metric.name == "energy_joules";
}

/// Whether a figure became worse by more than `share` even at the interval's kindest end.
bool is_beyond(const record::Metric& metric, const std::optional<record::Interval>& interval, double share) {
  if (!interval) return false;
  return metric.better == record::Better::kHigher ? interval->high < -share : interval->low > share;
}

}  // namespace

std::vector<HistoryLimit> parse_history_limits(const std::string& text) {
  std::vector<HistoryLimit> limits;
  if (text.empty()) return limits;
  for (const std::string& part : csv_cells(text)) limits.push_back(parse_limit(part));
  return limits;
}

std::vector<std::string> beyond_limits(const History& history, const std::vector<HistoryLimit>& limits) {
  std::vector<std::string> failures;
  const auto hold = [&](const HistorySeries& series, const HistoryFigure& figure, const HistoryLimit& limit,
                        double change, const std::optional<record::Interval>& interval, const std::string& when) {
    if (!is_beyond(figure.metric, interval, limit.share)) return;
    failures.push_back(fmt::format("{}: {} is {} {}, surely by more than {:g} {}, {}", series.cell, figure.metric.label,
                                   change_size(figure.metric, change), change_word(figure.metric, change),
                                   100 * limit.share, figure.metric.unit == "share" ? "points" : "%", when));
  };
  for (const HistorySeries& series : history.series) {
    for (const HistoryFigure& figure : series.figures) {
      for (const HistoryLimit& limit : limits) {
        if (!is_about(limit.what, series, figure)) continue;
        if (!figure.changes.empty()) {
          const HistoryChange& latest = figure.changes.back();
          hold(series, figure, limit, latest.change, latest.interval,
               "since " + day_of(series.runs[figure.runs[latest.at]].record));
        }
        if (figure.drift) {
          hold(series, figure, limit, figure.drift->change, figure.drift->interval, "by a drift over all runs");
        }
      }
    }
  }
  return failures;
}

}  // namespace evener::report
