// A history in tables and sentences, as JSON, and held against limits.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/plural.h"
#include "base/statistics.h"
#include "report/figures.h"
#include "report/format.h"
#include "sweep/history/history.h"

namespace evener::sweeps {
namespace {

using nlohmann::ordered_json;
using record::Metric;
using record::MetricRole;

constexpr const char* kNoFigure = "-";
constexpr std::size_t kPlaceKnownTo = 2;  // runs: how far off the place of a change may be
constexpr std::size_t kProgramDigits = 8;

std::string version_of(const record::Record& record, const std::string& name) {
  const auto found = record.versions.find(name);
  return found == record.versions.end() ? "" : found->second;
}

bool is_same_program(const HistoryRun& a, const HistoryRun& b) {
  return a.record.versions == b.record.versions;
}

/// The two runs at whose side a figure changed.
struct Sides {
  const HistoryRun &before, &after;
};

Sides sides_of(const HistorySeries& series, const HistoryFigure& figure, std::size_t at) {
  return {series.runs[figure.runs[at - 1]], series.runs[figure.runs[at]]};
}

/// What differs between two runs of a cell, besides the program's identity: "g++ 12 -> 13".
std::vector<std::string> other_differences(const Sides& sides) {
  std::vector<std::string> differences;
  const record::Record &a = sides.before.record, &b = sides.after.record;
  const auto add = [&](const std::string& name, const std::string& old, const std::string& now) {
    if (old != now)
      differences.push_back(fmt::format("{} {} -> {}", name, old.empty() ? "?" : old, now.empty() ? "?" : now));
  };
  add("engine", a.engine, b.engine);
  std::map<std::string, std::string> versions = a.versions;
  versions.insert(b.versions.begin(), b.versions.end());
  for (const auto& [name, value] : versions) {
    if (name != "evener" && name != "program") add(name, version_of(a, name), version_of(b, name));
  }
  add("kernel", a.machine.kernel, b.machine.kernel);
  add("governor", a.machine.governor.value_or(""), b.machine.governor.value_or(""));
  if (a.data.images && b.data.images) {
    add("images", std::to_string(*a.data.images), std::to_string(*b.data.images));
  }
  return differences;
}

/// Where the program changed, if it did near a change of a figure but not exactly there; "" = nowhere.
std::string program_change_nearby(const HistorySeries& series, const HistoryFigure& figure, std::size_t at) {
  for (std::size_t off = 1; off <= kPlaceKnownTo; ++off) {
    for (const bool is_later : {false, true}) {
      if (!is_later && at < off + 1) continue;
      const std::size_t place = is_later ? at + off : at - off;
      if (place >= figure.runs.size()) continue;
      const Sides sides = sides_of(series, figure, place);
      if (is_same_program(sides.before, sides.after)) continue;
      return fmt::format("the program changed {} {}, from {} to {}, and the place is known to +-{} runs",
                         counted(off, "run"), is_later ? "later" : "earlier", program_text(sides.before.record),
                         program_text(sides.after.record), kPlaceKnownTo);
    }
  }
  return "";
}

std::string between_text(const HistorySeries& series, const HistoryFigure& figure, std::size_t at) {
  const Sides sides = sides_of(series, figure, at);
  std::string text =
      fmt::format("between {} of {} and {} of {}", program_text(sides.before.record), day_of(sides.before.record),
                  program_text(sides.after.record), day_of(sides.after.record));
  const std::vector<std::string> others = other_differences(sides);
  if (!others.empty()) text += " (" + report::listed(others) + ")";
  if (!is_same_program(sides.before, sides.after)) return text;
  const std::string nearby = program_change_nearby(series, figure, at);
  return text + "; " + (nearby.empty() ? "the program is the same there, so something around it changed" : nearby);
}

/// What became of a figure at a change: "slower", "more", "lower".
const char* change_word(const Metric& metric, double change) {
  if (metric.role == record::MetricRole::kSpeed) {
    return (change > 0) == (metric.better == record::Better::kHigher) ? "faster" : "slower";
  }
  if (metric.role == record::MetricRole::kQuality) return change > 0 ? "higher" : "lower";
  return change > 0 ? "more" : "less";
}

std::string figure_at(const Metric& metric, double value) {
  Metric told = metric;
  told.value = value;
  return report::figure_text(told, kNoFigure);
}

/// "4.9 %", "1.2 points", "3 dB": the size of a change without its direction.
std::string change_size(const HistoryFigure& figure, double change) {
  if (!figure.is_relative && figure.metric.unit != "share") return figure_at(figure.metric, std::abs(change));
  const double percent = 100 * std::abs(change);
  const std::string number = fmt::format("{:.{}f}", percent, percent < 1 ? 2 : 1);
  return number + (figure.is_relative ? " %" : " points");
}

std::string with_interval(const HistoryFigure& figure, double change, const std::optional<record::Interval>& interval,
                          double p) {
  std::string text = fmt::format("{} {}", change_size(figure, change), change_word(figure.metric, change));
  if (!interval) return text + fmt::format(" (too few runs for an interval; p {:.2g})", p);
  const auto told = [&](double end) {
    return fmt::format("{}{}", end * change < 0 ? "-" : "", change_size(figure, end));
  };
  const double least = change < 0 ? interval->high : interval->low, most = change < 0 ? interval->low : interval->high;
  return text + fmt::format(" (95 %: {} to {}; p {:.2g})", told(least), told(most), p);
}

std::string label_of(const Metric& metric) {
  return metric.label.empty() ? metric.name : metric.label;
}

/// ", but all images over all seconds are 3.1 % faster: ...", of a change that these don't show; else "".
std::string whole_text(const HistoryFigure& figure, const HistoryChange& change) {
  if (!change.whole) return "";
  return fmt::format(", but all images over all seconds are {} {}: {}", change_size(figure, *change.whole),
                     change_word(figure.metric, *change.whole), record::kUnseenByMedians);
}

std::string change_sentence(const HistorySeries& series, const HistoryFigure& figure, const HistoryChange& change) {
  const record::Record& first = series.runs[figure.runs[change.at]].record;
  return fmt::format("{}: {} from {} on, {} after {}{}: {}", label_of(figure.metric),
                     with_interval(figure, change.change, change.interval, change.p), day_of(first),
                     figure_at(figure.metric, change.after), figure_at(figure.metric, change.before),
                     whole_text(figure, change), between_text(series, figure, change.at));
}

std::string drift_sentence(const HistorySeries& series, const HistoryFigure& figure) {
  return fmt::format("{}: drifts, {} over {} from {} to {}, steadily rather than at one place", label_of(figure.metric),
                     with_interval(figure, figure.drift->change, figure.drift->interval, figure.drift->p),
                     counted(figure.runs.size(), "run"), day_of(series.runs[figure.runs.front()].record),
                     day_of(series.runs[figure.runs.back()].record));
}

std::string two_levels_sentence(const HistoryFigure& figure) {
  const record::TwoLevels& levels = *figure.two_levels;
  return fmt::format(
      "{}: goes to and fro between two levels, {} times: {} in {} and {} in {}, as two states of a machine, or two "
      "machines taken for one, make it; a change between them can't be told from that",
      label_of(figure.metric), levels.switches, figure_at(figure.metric, levels.low), counted(levels.at_low, "run"),
      figure_at(figure.metric, levels.high), counted(figure.runs.size() - levels.at_low, "run"));
}

/// How many runs would show a change of that size, if any number does that can be asked for: "24 runs would".
std::string enough_runs(const HistoryFigure& figure, std::size_t tests, double change) {
  constexpr std::size_t kMost = 5000;
  for (std::size_t runs = std::max(record::kFewestSamples, figure.runs.size()); runs <= kMost; runs += 1 + runs / 50) {
    const std::optional<double> least = least_change(figure, runs, tests);
    if (least && (*least <= change || change == 0)) return counted(runs, "run") + " would";
  }
  return fmt::format("more than {} runs, or steadier ones, would", kMost);
}

/// Of figures without a finding: in which no change could have been found, and, where nothing changed, how large one of
/// the others would have been found.
std::vector<std::string> nothing_sentences(const HistorySeries& series, std::size_t tests) {
  if (series.figures.empty()) return {"no run counts, so there is nothing to look for changes in"};
  std::vector<std::string> looked_at, least, sentences;
  std::size_t runs = 0, missing = 0;
  bool changed = false;
  for (const HistoryFigure& figure : series.figures) {
    missing = std::max(missing, figure.runs_missing);
    changed |= !figure.changes.empty() || figure.drift;
    if (figure.runs_missing > 0 || !figure.changes.empty() || figure.drift || figure.two_levels) continue;
    runs = std::max(runs, figure.runs.size());
    if (figure.least) {
      looked_at.push_back(label_of(figure.metric));
      least.push_back(*figure.least == 0 ? "any" : change_size(figure, *figure.least));
    } else {
      sentences.push_back(fmt::format("{}: {} can't show a change, however large, among {}; {}",
                                      label_of(figure.metric), counted(figure.runs.size(), "run"),
                                      counted(tests, "test"), enough_runs(figure, tests, 0)));
    }
  }
  if (!looked_at.empty() && !changed) {
    sentences.push_back(fmt::format("no change of {} in {} (found would be {})", report::listed(looked_at),
                                    counted(runs, "run"), report::listed(least)));
  }
  if (runs == 0 && missing > 0 && !changed)
    sentences.push_back(fmt::format("too few runs to look for changes: {} more", missing));
  return sentences;
}

/// Runs of a series that stand in one row: made one after another by the same program, at the same levels.
struct VersionRows {
  std::size_t first = 0, end = 0;
};

bool changes_at(const HistorySeries& series, std::size_t run) {
  return std::ranges::any_of(series.figures, [&](const HistoryFigure& figure) {
    return std::ranges::any_of(figure.changes, [&](const HistoryChange& one) { return figure.runs[one.at] == run; });
  });
}

std::vector<VersionRows> rows_of(const HistorySeries& series) {
  std::vector<VersionRows> rows;
  for (std::size_t n = 0; n < series.runs.size(); ++n) {
    const bool goes_on = !rows.empty() && is_same_program(series.runs[n - 1], series.runs[n]) && !changes_at(series, n);
    if (!goes_on) rows.push_back({n, n});
    rows.back().end = n + 1;
  }
  return rows;
}

std::string level_text(const HistoryFigure& figure, const VersionRows& row) {
  std::vector<double> values;
  for (std::size_t n = 0; n < figure.runs.size(); ++n) {
    if (figure.runs[n] >= row.first && figure.runs[n] < row.end) values.push_back(figure.values[n]);
  }
  Metric told = figure.metric;
  told.value = median(values);
  return report::cell_text(told, kNoFigure);
}

std::string short_change(const HistoryFigure& figure, double change) {
  return fmt::format("{} {} {}", label_of(figure.metric), change_size(figure, change),
                     change_word(figure.metric, change));
}

std::string changes_text(const HistorySeries& series, const VersionRows& row) {
  std::vector<std::string> texts;
  for (const HistoryFigure& figure : series.figures) {
    for (const HistoryChange& change : figure.changes) {
      const std::size_t run = figure.runs[change.at];
      if (run >= row.first && run < row.end) texts.push_back(short_change(figure, change.change));
    }
  }
  return report::listed(texts);
}

std::size_t counted_runs(const HistorySeries& series, const VersionRows& row) {
  const auto first = series.runs.begin();
  return static_cast<std::size_t>(std::count_if(first + static_cast<std::ptrdiff_t>(row.first),
                                                first + static_cast<std::ptrdiff_t>(row.end),
                                                [](const HistoryRun& run) { return run.left_out.empty(); }));
}

using What = HistoryLimit::What;

constexpr const char* kLimits[] = {"slower", "memory", "accuracy", "energy"};

HistoryLimit parse_limit(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    throw UsageError(fmt::format("--fail-on {}: it needs a limit in percent, as in slower=5%", quoted_text(text)));
  }
  HistoryLimit limit{.what = value_named<What>(kLimits, "figure of --fail-on", text.substr(0, equals))};
  const std::string number = text.substr(equals + 1);
  const auto percentage = to_percentage(number);
  if (!percentage || !(percentage->percent >= 0 && percentage->percent < 1000)) {
    throw UsageError(fmt::format("--fail-on {}: {} is no percentage from 0% on, as in {}={}", quoted_text(text),
                                 quoted_text(number), text.substr(0, equals), percentage_for(number, "5%")));
  }
  limit.share = percentage->share();
  return limit;
}

bool is_about(What what, const HistorySeries& series, const HistoryFigure& figure) {
  switch (what) {
    case What::kSlower:
      return figure.metric.role == MetricRole::kSpeed && &figure == &series.figures.front();
    case What::kMemory:
      return figure.metric.name == "peak_rss_bytes";
    case What::kAccuracy:
      return figure.metric.role == MetricRole::kQuality && (figure.is_relative || figure.metric.unit == "share");
    case What::kEnergy:
      break;
  }
  return figure.metric.name == "energy_joules";
}

std::string limit_text(const HistoryFigure& figure, double share) {
  return fmt::format("{:g} {}", 100 * share, figure.metric.unit == "share" ? "points" : "%");
}

/// Holds a change against a limit: it fails where even the interval's kindest end is beyond, and holds where the other
/// end isn't.
void hold_change(const HistorySeries& series, const HistoryFigure& figure, double change,
                 const std::optional<record::Interval>& interval, const std::string& when, double share,
                 HeldLimits& held) {
  const double worse = figure.metric.better == record::Better::kHigher ? -1 : 1;
  const record::Interval known = interval.value_or(record::Interval{change, change});
  const auto [least, most] = std::minmax({worse * known.low, worse * known.high});
  const std::string what = fmt::format("{}: {} is {} {}", series.cell, label_of(figure.metric),
                                       change_size(figure, change), change_word(figure.metric, change));
  const std::string limit = limit_text(figure, share);
  if (interval && least > share) {
    held.failures.push_back(fmt::format("{}, surely by more than {}, {}", what, limit, when));
  } else if (most > share) {
    held.undecided.push_back(
        fmt::format("{}, {}; whether by more than {} is undecided: more runs would tell", what, when, limit));
  }
}

/// Holds a figure without a change against a limit: would one of that size have been found?
void hold_level(const HistorySeries& series, const HistoryFigure& figure, std::size_t tests, double share,
                HeldLimits& held) {
  if (figure.least && (*figure.least <= share || share == 0)) return;
  const std::string limit = limit_text(figure, share);
  held.undecided.push_back(
      fmt::format("{}: {}: {} can't show a change of {}{}; {}", series.cell, label_of(figure.metric),
                  counted(figure.runs.size(), "run"), limit,
                  figure.least ? fmt::format(", only of {} and more", change_size(figure, *figure.least)) : "",
                  figure.noise.deviation == 0 && figure.runs_missing > 0
                      ? fmt::format("at least {} would", record::kFewestSamples)
                      : enough_runs(figure, std::max<std::size_t>(tests, 2), share)));
}

ordered_json run_json(const HistorySeries& series, const HistoryRun& run) {
  const record::Record& record = run.record;
  ordered_json json = {{"folder", run.folder.string()},
                       {"started", record.started},
                       {"versions", record.versions},
                       {"engine", record.engine},
                       {"valid", report::value_or_null(record.validity.valid)},
                       {"left_out", run.left_out.empty() ? ordered_json(nullptr) : ordered_json(run.left_out)}};
  for (const HistoryFigure& figure : series.figures) {
    const record::Metric* metric = record::find_metric(run.metrics, figure.metric.name);
    json["figures"][figure.metric.name] =
        metric == nullptr ? ordered_json(nullptr) : report::value_or_null(metric->value);
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
                       {"drift", nullptr},
                       {"least_change_found", report::value_or_null(figure.least)},
                       {"two_levels", nullptr}};
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
         {"interval_95", report::ends_or_null(change.interval)},
         {"p", change.p},
         {"text", change_size(figure, change.change) + " " + change_word(metric, change.change)}});
  }
  if (const auto& levels = figure.two_levels) {
    json["two_levels"] = {
        {"low", levels->low}, {"high", levels->high}, {"runs_at_low", levels->at_low}, {"switches", levels->switches}};
  }
  if (figure.drift) {
    json["drift"] = {{"change", figure.drift->change},
                     {"interval_95", report::ends_or_null(figure.drift->interval)},
                     {"p", figure.drift->p}};
  }
  return json;
}

}  // namespace

std::string day_of(const record::Record& record) {
  return record.started.empty() ? "an unknown day" : record.started.substr(0, record.started.find('T'));
}

std::string program_text(const record::Record& record) {
  const std::string version = version_of(record, "evener"), program = version_of(record, "program");
  std::string text = "evener " + (version.empty() ? "of an unknown version" : version);
  if (!program.empty()) text += ", program " + program.substr(0, kProgramDigits);
  return text;
}

std::vector<std::string> history_sentences(const HistorySeries& series, std::size_t tests) {
  std::vector<std::string> sentences;
  for (const HistoryFigure& figure : series.figures) {
    for (const HistoryChange& change : figure.changes) sentences.push_back(change_sentence(series, figure, change));
    if (figure.drift) sentences.push_back(drift_sentence(series, figure));
    if (figure.two_levels) sentences.push_back(two_levels_sentence(figure));
  }
  std::ranges::move(nothing_sentences(series, tests), std::back_inserter(sentences));
  return sentences;
}

report::Table versions_table(const HistorySeries& series) {
  report::Table table;
  table.columns = {{"from", true}, {"to", true}, {"evener", false}, {"program", false}, {"runs", true}};
  for (const HistoryFigure& figure : series.figures)
    table.columns.push_back({figure.metric.title.empty() ? label_of(figure.metric) : figure.metric.title, true});
  table.columns.push_back({"change", false});
  for (const VersionRows& row : rows_of(series)) {
    const record::Record &first = series.runs[row.first].record, &last = series.runs[row.end - 1].record;
    const std::size_t counts = counted_runs(series, row);
    const std::string program = version_of(first, "program").substr(0, kProgramDigits);
    std::string runs = std::to_string(counts);
    if (counts < row.end - row.first) runs += fmt::format(" of {}", row.end - row.first);
    table.rows.push_back(
        {day_of(first), day_of(last), version_of(first, "evener"), program.empty() ? kNoFigure : program, runs});
    for (const HistoryFigure& figure : series.figures) table.rows.back().push_back(level_text(figure, row));
    table.rows.back().push_back(changes_text(series, row));
  }
  return table;
}

report::Table history_table(const History& history) {
  report::Table table;
  table.columns = {{"cell", false}, {"machine", false}, {"runs", true},
                   {"from", true},  {"to", true},       {"changes", false}};
  for (const HistorySeries& series : history.series) {
    std::vector<std::string> changes;
    for (const HistoryFigure& figure : series.figures) {
      for (const HistoryChange& change : figure.changes) changes.push_back(short_change(figure, change.change));
      if (figure.drift) changes.push_back(short_change(figure, figure.drift->change) + " (drift)");
    }
    table.rows.push_back(
        {series.cell, series.machine, std::to_string(counted_runs(series, {0, series.runs.size()})),
         day_of(series.runs.front().record), day_of(series.runs.back().record),
         changes.empty() ? history_sentences(series, history.tests).front() : report::listed(changes)});
  }
  return table;
}

std::vector<HistoryLimit> parse_history_limits(const std::string& text) {
  std::vector<HistoryLimit> limits;
  if (text.empty()) return limits;
  for (const std::string& part : csv_cells(text)) limits.push_back(parse_limit(part));
  return limits;
}

HeldLimits hold_against(const History& history, const std::vector<HistoryLimit>& limits) {
  HeldLimits held;
  for (const HistoryLimit& limit : limits) {
    bool is_known = false;  // accuracies are: a network that only answers has none
    for (const HistorySeries& series : history.series) {
      bool is_here = false;
      for (const HistoryFigure& figure : series.figures) {
        if (!is_about(limit.what, series, figure)) continue;
        is_here = true;
        if (!figure.changes.empty()) {
          const HistoryChange& latest = figure.changes.back();
          hold_change(series, figure, latest.change, latest.whole ? std::nullopt : latest.interval,
                      "since " + day_of(series.runs[figure.runs[latest.at]].record) + whole_text(figure, latest),
                      limit.share, held);
        }
        if (figure.drift) {
          hold_change(series, figure, figure.drift->change, figure.drift->interval, "by a drift over all runs",
                      limit.share, held);
        }
        if (figure.changes.empty() && !figure.drift) hold_level(series, figure, history.tests, limit.share, held);
      }
      is_known |= is_here;
      if (is_here || (limit.what == What::kAccuracy && !series.figures.empty())) continue;
      held.undecided.push_back(
          fmt::format("{}: no run that counts tells what {} is about", series.cell, name_in(kLimits, limit.what)));
    }
    if (!is_known && limit.what == What::kAccuracy) {
      held.undecided.push_back("no run that counts tells an accuracy");
    }
  }
  return held;
}

std::string history_json(const History& history, const HeldLimits& held) {
  ordered_json json = {{"schema", "evener-history-1"}, {"tests", history.tests},      {"series", ordered_json::array()},
                       {"failures", held.failures},    {"undecided", held.undecided}, {"notes", history.notes}};
  for (const HistorySeries& series : history.series) {
    ordered_json one = {{"cell", series.cell},
                        {"machine", series.machine},
                        {"runs", ordered_json::array()},
                        {"figures", ordered_json::array()},
                        {"sentences", history_sentences(series, history.tests)}};
    for (const HistoryRun& run : series.runs) one["runs"].push_back(run_json(series, run));
    for (const HistoryFigure& figure : series.figures) one["figures"].push_back(figure_json(figure));
    json["series"].push_back(std::move(one));
  }
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}
}  // namespace evener::sweeps
