#include "sweep/history/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <system_error>
#include <tuple>

#include "base/error.h"
#include "base/numbers.h"
#include "base/plural.h"
#include "base/statistics.h"
#include "record/repeats.h"
#include "record/sweep_file.h"
#include "report/figures.h"
#include "report/format.h"
#include "report/run.h"
#include "sweep/figures/sweep.h"

namespace evener::sweeps {
namespace {

using record::Metric;
using record::MetricRole;
namespace fs = std::filesystem;

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

/// Without values that can be no measurement, as a speed of 0, which are counted in `no_measurements`.
void add_figure(HistorySeries& series, const Metric& metric, std::map<std::string, std::size_t>& no_measurements) {
  HistoryFigure figure{.metric = metric};
  figure.metric.value.reset();
  const record::EnergyClass energy = energy_class_of(series);
  for (std::size_t n = 0; n < series.runs.size(); ++n) {
    if (!series.runs[n].left_out.empty()) continue;
    const auto value = value_in(series.runs[n], metric.name, energy);
    if (!value) continue;
    if (!std::isfinite(*value) || (metric.role != MetricRole::kQuality && *value <= 0)) {
      ++no_measurements[fmt::format("a {} of {:g}", metric.label.empty() ? metric.name : metric.label, *value)];
      continue;
    }
    figure.runs.push_back(n);
    figure.values.push_back(*value);
  }
  if (figure.values.empty()) return;
  figure.is_relative =
      metric.unit != "share" && std::ranges::all_of(figure.values, [](double value) { return value > 0; });
  if (figure.values.size() < record::kFewestSamples)
    figure.runs_missing = record::kFewestSamples - figure.values.size();
  series.figures.push_back(std::move(figure));
}

/// Takes the figures from the latest runs first, which are the ones that are asked about.
void add_figures(HistorySeries& series, std::map<std::string, std::size_t>& no_measurements) {
  std::set<std::string> known;
  for (auto run = series.runs.rbegin(); run != series.runs.rend(); ++run) {
    for (const Metric& metric : run->metrics) {
      if (!is_told(metric) || !metric.value || !known.insert(metric.name).second) continue;
      add_figure(series, metric, no_measurements);
    }
  }
  std::erase_if(series.figures, [&](const HistoryFigure& figure) {
    return !figure.metric.stands_in_for.empty() && known.contains(figure.metric.stands_in_for);
  });
  std::ranges::stable_sort(series.figures, {}, [](const HistoryFigure& figure) { return figure.metric.role; });
}

/// A difference as a change: relative where it is one of logarithms.
double change_of(const HistoryFigure& figure, double difference) {
  return figure.is_relative ? std::expm1(difference) : difference;
}

std::optional<record::Interval> change_of(const HistoryFigure& figure,
                                          const std::optional<record::Interval>& interval) {
  if (!interval) return std::nullopt;
  return record::Interval{change_of(figure, interval->low), change_of(figure, interval->high)};
}

/// A figure's values as differences are taken of them.
std::vector<double> compared_values(const HistoryFigure& figure) {
  std::vector<double> values = figure.values;
  if (figure.is_relative) {
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
    return figure.is_relative ? std::exp(value) : value;
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

/// Holds each change of the median speed against the whole, on both sides as far as the next change.
void hold_against_the_whole(HistorySeries& series) {
  for (HistoryFigure& figure : series.figures) {
    if (figure.metric.name != record::kMedianSpeed) continue;
    const auto median_of_whole = [&](const HistoryLevel& level) {
      std::vector<double> values;
      for (std::size_t n = level.first; n <= level.last; ++n) {
        const Metric* whole = record::find_metric(series.runs[figure.runs[n]].metrics, record::kOverallSpeed);
        if (whole != nullptr && whole->value) values.push_back(*whole->value);
      }
      return median(values);
    };
    for (std::size_t n = 0; n < figure.changes.size(); ++n) {
      const auto before = median_of_whole(figure.levels[n]), after = median_of_whole(figure.levels[n + 1]);
      if (!before || !after || *before <= 0) continue;
      const double change = *after / *before - 1;
      if (change * figure.changes[n].change < 0) figure.changes[n].whole = change;
    }
  }
}

/// Corrects the p-values of all figures for the number of tests, and drops what can't be told then.
void find_all_changes(History& history) {
  std::vector<HistoryFigure*> figures;
  for (HistorySeries& series : history.series) {
    for (HistoryFigure& figure : series.figures) {
      figure.noise = record::noise_of(compared_values(figure), {});
      if (figure.runs_missing == 0) figures.push_back(&figure);
    }
  }
  const std::size_t permutations = record::permutations_for(figures.size());
  std::vector<record::SeriesChanges> found;
  for (const HistoryFigure* figure : figures) {
    found.push_back(record::find_changes(compared_values(*figure), permutations));
  }
  history.tests = record::correct_together(found);
  for (std::size_t n = 0; n < figures.size(); ++n) {
    HistoryFigure& figure = *figures[n];
    take_changes(figure, found[n]);
    figure.noise = record::noise_of(compared_values(figure), found[n]);
    figure.least = least_change(figure, figure.values.size(), history.tests);
    if (figure.metric.unit != "share") figure.two_levels = record::two_levels_of(figure.values);
  }
  for (HistorySeries& series : history.series) hold_against_the_whole(series);
}

/// "INVALID: swap", "beside other programs".
std::string why_invalid(const record::Record& record) {
  std::string text = report::validity_text(record);
  if (report::is_told_in_passing(record)) return text;
  for (std::size_t n = 0; n < record.validity.reasons.size(); ++n)
    text += (n == 0 ? ": " : ", ") + record.validity.reasons[n].rule;
  return text;
}

/// Why change points don't count the run; "" = they do.
std::string why_left_out(const record::Record& record, bool count_invalid) {
  if (record.status != record::Status::kDone) return record::status_name(record.status);
  if (record.started.empty()) return "it has no date";
  return count_invalid || record.validity.valid.value_or(true) ? "" : why_invalid(record);
}

void note_left_out(History& history) {
  std::map<std::string, std::size_t> reasons;
  std::set<std::string> machines;
  for (const HistorySeries& series : history.series) {
    machines.insert(series.machine);
    for (const HistoryRun& run : series.runs) {
      if (run.left_out.empty()) continue;
      const bool is_for_validity = run.left_out == why_invalid(run.record);
      ++reasons[run.left_out + (is_for_validity ? " (--count-invalid counts them)" : "")];
    }
  }
  for (const auto& [reason, count] : reasons) {
    history.notes.push_back(counted(count, "run") + " not counted: " + reason);
  }
  if (machines.size() > 1) {
    history.notes.push_back(std::to_string(machines.size()) + " machines: their runs are kept apart");
  }
}

/// What a sweep knows of one of its runs.
struct OfSweep {
  record::SweepRecord sweep;
  record::SweepJournal journal;
};

struct RunFolder {
  fs::path path;
  const OfSweep* sweep = nullptr;  // that it belongs to; null: none
  fs::path sweep_folder;
};

class FolderWalk {
 public:
  explicit FolderWalk(std::vector<std::string>& notes) : notes_(notes) {}

  /// Real folders before links, so that what both lead to has its own name, and stays a part of its sweep.
  void walk(const std::vector<fs::path>& folders) {
    for (const fs::path& folder : folders) walk(folder, nullptr, {});
    for (std::size_t n = 0; n < links_.size(); ++n) {
      const RunFolder link = links_[n];
      walk(link.path, link.sweep, link.sweep_folder);
    }
    if (!twice_.empty()) {
      notes_.push_back("named more than once, or led to by links, and taken once: " + report::listed(twice_, 3));
    }
  }

  const std::vector<RunFolder>& runs() const { return runs_; }

 private:
  void walk(const fs::path& folder, const OfSweep* sweep, const fs::path& sweep_folder) {
    std::error_code error;
    const fs::path whole = fs::weakly_canonical(folder, error);
    if (!seen_.insert(error ? folder : whole).second) {
      return twice_.push_back(folder.string());
    }
    if (fs::exists(folder / "record.json", error)) {
      runs_.push_back({folder, sweep, sweep_folder});
      return;
    }
    if (is_sweep(folder)) return walk_in(folder, read_sweep(folder), folder);
    walk_in(folder, sweep, sweep_folder);
  }

  void walk_in(const fs::path& folder, const OfSweep* sweep, const fs::path& sweep_folder) {
    std::error_code error;
    std::vector<fs::path> inside, links;
    for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
      std::error_code none;
      if (folder == sweep_folder && entry->path().filename() == record::kPilotFolder) continue;
      if (entry->is_symlink(none) && !entry->exists(none)) {
        notes_.push_back(entry->path().string() + " is a link to what isn't there");
      }
      if (entry->is_directory(none)) (entry->is_symlink(none) ? links : inside).push_back(entry->path());
    }
    if (error) notes_.push_back(fmt::format("{} can't be read: {}", folder.string(), error.message()));
    std::ranges::sort(inside);
    std::ranges::sort(links);
    for (const fs::path& one : links) links_.push_back({one, sweep, sweep_folder});
    for (const fs::path& one : inside) walk(one, sweep, sweep_folder);
  }

  const OfSweep* read_sweep(const fs::path& folder) {
    try {
      sweeps_.push_back(std::make_unique<OfSweep>(record::read_sweep(folder), record::read_journal(folder)));
      return sweeps_.back().get();
    } catch (const Error& failure) {
      notes_.push_back(fmt::format("the sweep's own files are not read: {}", failure.what()));
      return nullptr;
    }
  }

  std::vector<std::string>& notes_;
  std::vector<std::string> twice_;
  std::set<fs::path> seen_;
  std::vector<RunFolder> runs_, links_;
  std::vector<std::unique_ptr<OfSweep>> sweeps_;
};

/// Takes over what the sweep of a run knows of it: the environment, and which figures count.
void take_from_sweep(const RunFolder& folder, HistoryRun& run) {
  const std::string name = folder.path.lexically_relative(folder.sweep_folder).string();
  const auto found = std::ranges::find(folder.sweep->journal.runs, name, &record::SweepRun::folder);
  if (found == folder.sweep->journal.runs.end()) return;
  for (const record::SweepCell& cell : folder.sweep->sweep.cells) {
    if (cell.key == found->cell) run.environment = cell.environment;
  }
  if (found->part == record::kWarmupPart && run.left_out.empty()) run.left_out = "warm-up";
  std::erase_if(run.metrics,
                [&](const record::Metric& metric) { return !counts_in(folder.sweep->sweep, metric, found->part); });
}

HistoryRun load_history_run(const RunFolder& folder, bool count_invalid) {
  HistoryRun run{.folder = folder.path, .record = report::load_record(folder.path)};
  run.metrics = record::metrics_of(run.record);
  for (record::Metric& metric : run.metrics) metric.samples.clear();
  run.record.training = {};
  run.record.confusion = {};
  run.record.layers.clear();
  run.record.metrics.clear();
  run.record.images_per_s.samples.clear();
  run.left_out = why_left_out(run.record, count_invalid);
  if (folder.sweep != nullptr) take_from_sweep(folder, run);
  return run;
}

/// Whether two records are of the same run, as in a folder that was copied.
bool are_copies(const HistoryRun& a, const HistoryRun& b) {
  const auto same_value = [](const record::Metric& x, const record::Metric& y) { return x.value == y.value; };
  return a.record.started == b.record.started && a.record.command == b.record.command &&
         a.record.times.total == b.record.times.total && std::ranges::equal(a.metrics, b.metrics, same_value);
}

/// A machine as the first of its runs describes it.
struct KnownMachine {
  record::MachineRecord machine;
  std::string cards_and_hosts;
};

/// The number of the run's machine among the known ones, which it joins if it is new.
std::size_t machine_of(const record::Record& record, std::vector<KnownMachine>& known) {
  std::string cards_and_hosts;
  for (const record::GpuUse& gpu : record.gpus) cards_and_hosts += ", " + gpu.name;
  std::set<std::string> hosts;
  for (const record::ReplicaRecord& replica : record.placement.replicas) hosts.insert(replica.host);
  for (const std::string& host : hosts) cards_and_hosts += host.empty() ? "" : ", " + host;
  const auto found = std::ranges::find_if(known, [&](const KnownMachine& one) {
    return one.cards_and_hosts == cards_and_hosts && record::is_same_machine(one.machine, record.machine);
  });
  const auto number = static_cast<std::size_t>(found - known.begin());
  if (found == known.end()) known.push_back({record.machine, cards_and_hosts});
  return number;
}

/// The work, and where: what any two runs of a cell have in common, whatever their version.
std::string work_of(const HistoryRun& run, std::size_t machine) {
  const record::Record& record = run.record;
  const record::ScenarioRecord& scenario = record.scenario;
  std::string text = fmt::format("{};{};{};", record.kind, record.model.name, record.data.location);
  for (const std::int64_t extent : record.data.shape) text += fmt::format("{}x", extent);
  text += fmt::format(";{};{};{};{};{};{};", scenario.name, scenario.percentile.value_or(0),
                      scenario.latency_limit_s.value_or(0), scenario.samples_per_query.value_or(0), record.precision,
                      record.batch.value_or(0));
  for (const record::ReplicaRecord& replica : record.placement.replicas) {
    text += "replica;";
    for (const record::StageRecord& stage : replica.stages) {
      text += fmt::format("{}/{}@{};", stage.device, stage.threads.value_or(0), stage.emulated_speed.value_or(1));
    }
  }
  for (const auto& [name, value] : run.environment) text += fmt::format("{}={};", name, value);
  return text + std::to_string(machine);
}

bool names_engine(const record::Record& record) {
  return record.options.contains("engine") || std::ranges::any_of(record.command, [](const std::string& word) {
           return word == "--engine" || word.starts_with("--engine=");
         });
}

/// Whether an option decides what a run does. Seeds make runs differ by chance, and what is found out from the data, or
/// by the program's choice of an engine, is no choice of the user's.
bool tells_cells_apart(const std::string& option, const record::Record& record) {
  static const std::set<std::string> kDoNot = {"seed", "mean", "standard-deviation", "resume", "on", "quiet"};
  return !kDoNot.contains(option) && (option != "engine" || names_engine(record));
}

/// The options of a run that tell cells apart. An option that its version didn't know yet has the value that the first
/// run of the same work with that option has.
using Options = std::map<std::string, std::string>;
Options options_of(const record::Record& record, const Options& first) {
  Options options = first;
  for (const auto& [name, value] : record.config) {
    if (tells_cells_apart(name, record)) options[name] = value;
  }
  return options;
}

std::string name_of(const HistoryRun& run) {
  const record::Record& record = run.record;
  std::string name = fmt::format("{} {}", record.kind, record.model.name);
  if (!record.data.location.empty()) name += " on " + record.data.location;
  if (!record.scenario.empty()) name += ", " + record.scenario.name;
  for (const std::string& part : {record.placement.text, record.precision}) name += part.empty() ? "" : ", " + part;
  if (record.batch) name += fmt::format(", batch {}", *record.batch);
  for (const auto& [variable, value] : run.environment) name += fmt::format(", {}={}", variable, value);
  return name;
}

/// Adds the options by which series of the same name differ to their names.
void tell_apart(std::vector<HistorySeries>& series, const std::vector<Options>& options) {
  std::vector<std::string> more(series.size());
  for (std::size_t n = 0; n < series.size(); ++n) {
    for (const auto& [name, value] : options[n]) {
      for (std::size_t other = 0; other < series.size(); ++other) {
        if (series[other].cell != series[n].cell || series[other].machine != series[n].machine) continue;
        const auto found = options[other].find(name);
        if (found != options[other].end() && found->second == value) continue;
        more[n] += fmt::format(", {}={}", name, value);
        break;
      }
    }
  }
  for (std::size_t n = 0; n < series.size(); ++n) series[n].cell += more[n];
}

/// All runs in and below the folders, each once, in no order. What was left out, and why, is added to `notes`.
std::vector<HistoryRun> find_history_runs(const std::vector<fs::path>& folders, const HistoryChoice& choice,
                                          std::vector<std::string>& notes) {
  FolderWalk walk(notes);
  for (const fs::path& folder : folders) {
    if (!fs::is_directory(folder)) throw UsageError(folder.string() + " is no folder; give folders with runs in them");
  }
  walk.walk(folders);
  std::vector<HistoryRun> runs;
  std::size_t before = 0, copies = 0;
  std::string last_before;
  for (const RunFolder& folder : walk.runs()) {
    try {
      HistoryRun run = load_history_run(folder, choice.count_invalid);
      if (!choice.since.empty() && run.record.started < choice.since) {
        ++before;
        last_before = std::max(last_before, day_of(run.record));
      } else if (std::ranges::any_of(runs, [&](const HistoryRun& known) { return are_copies(known, run); })) {
        ++copies;
      } else {
        runs.push_back(std::move(run));
      }
    } catch (const Error& failure) {
      notes.push_back(fmt::format("left out: {}", failure.what()));
    }
  }
  if (before > 0) {
    notes.push_back(
        fmt::format("{} before {} left out, the last of {}", counted(before, "run"), choice.since, last_before));
  }
  if (before > 0 && runs.empty())
    throw UsageError(fmt::format("--since {}: no run is left: {}", choice.since, report::listed(notes)));
  if (copies > 0) {
    notes.push_back(fmt::format("{} of another run left out", counted(copies, "copy", "copies")));
  }
  return runs;
}

/// Series by the names of their cells, with runs by date; without figures.
std::vector<HistorySeries> series_of(std::vector<HistoryRun> runs) {
  std::ranges::sort(runs, [](const HistoryRun& a, const HistoryRun& b) {
    return std::tie(a.record.started, a.folder) < std::tie(b.record.started, b.folder);
  });
  std::map<std::string, Options> firsts;
  std::vector<KnownMachine> machines;
  for (const HistoryRun& run : runs) {
    Options& first = firsts[work_of(run, machine_of(run.record, machines))];
    for (const auto& [name, value] : run.record.config) {
      if (tells_cells_apart(name, run.record)) first.try_emplace(name, value);
    }
  }
  std::vector<HistorySeries> series;
  std::vector<Options> options;
  std::map<std::pair<std::string, Options>, std::size_t> known;
  for (HistoryRun& run : runs) {
    const std::size_t machine = machine_of(run.record, machines);
    const std::string work = work_of(run, machine);
    Options own = options_of(run.record, firsts[work]);
    const auto [place, is_new] = known.try_emplace({work, own}, series.size());
    if (is_new) {
      series.push_back(
          {.cell = name_of(run),
           .machine = report::machine_text(machines[machine].machine) + machines[machine].cards_and_hosts});
      options.push_back(std::move(own));
    }
    series[place->second].runs.push_back(std::move(run));
  }
  tell_apart(series, options);
  std::ranges::stable_sort(series, {}, &HistorySeries::cell);
  return series;
}

}  // namespace

bool is_day(const std::string& text) {
  if (text.size() != 10) return false;
  const auto number = [&](std::size_t at, std::size_t digits) {
    return to_number<unsigned>(std::string_view(text).substr(at, digits)).value_or(0);
  };
  const std::chrono::year_month_day day{std::chrono::year(static_cast<int>(number(0, 4))),
                                        std::chrono::month(number(5, 2)), std::chrono::day(number(8, 2))};
  return day.ok() && text == fmt::format("{:04}-{:02}-{:02}", number(0, 4), number(5, 2), number(8, 2));
}

std::optional<double> least_change(const HistoryFigure& figure, std::size_t runs, std::size_t tests) {
  const std::optional<double> step = record::least_step_shown(figure.noise, runs, tests);
  // Of less, which takes a larger share than more does.
  return step && figure.is_relative ? std::optional(-std::expm1(-*step)) : step;
}

History history_of(std::vector<HistoryRun> runs) {
  History history;
  history.series = series_of(std::move(runs));
  std::map<std::string, std::size_t> no_measurements;
  for (HistorySeries& series : history.series) add_figures(series, no_measurements);
  find_all_changes(history);
  note_left_out(history);
  for (const auto& [what, count] : no_measurements) {
    history.notes.push_back(
        fmt::format("{} with {}, which is no measurement: not counted there", counted(count, "run"), what));
  }
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

}  // namespace evener::sweeps
