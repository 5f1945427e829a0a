#include "sweep/sweep_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "base/child.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/folder_lock.h"
#include "base/names.h"
#include "base/own_program.h"
#include "base/plural.h"
#include "base/stop.h"
#include "base/version.h"
#include "measure/run/metered_run.h"
#include "measure/run/passing_folder.h"
#include "sweep/figures/sweep_page.h"
#include "sweep/options.h"
#include "sweep/run/child_executor.h"
#include "sweep/run/identity.h"
#include "sweep/run/runner.h"

namespace evener::sweeps {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestPlan = 10'000'000;

/// A cell of the sweep, and its command with the options that its words give and its other options completed.
struct CompletedCell {
  CompletedCell(record::SweepCell& of, const MeasuredCommands& commands)
      : cell(of), command(measured_command(commands, of.words.front())) {
    std::vector<OptionBase*> places;
    for (OptionBase* option : command.options.options()) {
      if (option->is_positional()) places.push_back(option);
    }
    auto place = places.begin();
    for (std::size_t n = 1; n < cell.words.size(); ++n) {
      const std::string& word = cell.words[n];
      const std::size_t equals = word.find('=');
      if (!word.starts_with("--")) {
        (*place)->give({word});
        if ((*place)->kind() != ValueKind::kMany) ++place;
      } else if (OptionBase& option = *command.options.find(word.substr(0, equals)); equals != std::string::npos) {
        option.give({word.substr(equals + 1)});
      } else {
        option.give(option.kind() == ValueKind::kSwitch ? SweepValue{"true"} : SweepValue{});
      }
    }
    command.complete();
  }

  /// The value of an option, or else its default.
  std::string value(const std::string& name) const {
    const OptionBase& option = *command.options.find(name);
    return option.given() ? option.given_words().back() : option.default_text();
  }

  /// All that a plan depends on, but the placement: cells where it is the same can be planned together.
  std::string work() const {
    nlohmann::json values = cell.environment;
    for (const OptionBase* option : command.options.options()) {
      if (option->rules().in_plans && option->name() != "--on") option->record(values);
    }
    return values.dump();
  }

  record::SweepCell& cell;
  MeasuredCommand command;
};

/// The words of an `evener plan` for the work of a cell, without its placement and without options that plan lacks.
std::vector<std::string> plan_words(const CompletedCell& of) {
  std::vector<std::string> words = {"evener", "plan"};
  for (std::size_t n = 1; n < of.cell.words.size(); ++n) {
    const std::string& word = of.cell.words[n];
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with("--") || (name != "--on" && of.command.is_planned_by(name))) words.push_back(word);
  }
  return words;
}

/// Copies the prediction for the cell's placement from the JSON of a plan into the cell: images per second, and the
/// seconds of all its epochs. Leaves the cell as it is where the plan lacks the placement.
void take_prediction(const nlohmann::json& plan, const CompletedCell& of) {
  const std::string on = of.value("--on");
  const double epochs = std::stod(of.value("--epochs"));
  for (const nlohmann::json& row : plan.value("placements", nlohmann::json::array())) {
    if (row.value("placement", "") != on || !row.contains("images_per_s")) continue;
    of.cell.predicted = record::CellPrediction{.images_per_s = row.value("images_per_s", 0.0),
                                               .run_s = row.value("epoch_s", 0.0) * epochs};
  }
}

/// Runs the plan. Returns its JSON; null where it failed, which is told.
nlohmann::json run_plan_child(const fs::path& program, std::vector<std::string> words,
                              const std::map<std::string, std::string>& environment, measure::Observer& observer) {
  const measure::PassingFolder folder(measure::new_temporary_folder("evener-plan"));
  const fs::path file = folder.path() / "plan.json";
  words.insert(words.end(), {"--quiet", "--json", file.string()});
  std::string last;
  ChildOptions options;
  options.environment = environment;
  options.on_stderr_line = [&](const std::string& line) { last = line; };
  const ChildEnd end = run_child(program, words, options);
  if (stop_requested()) throw Interrupted("the sweep was interrupted; the same command goes on with it");
  if (!end.good()) {
    observer.note("no prediction: " + (last.empty() ? end_text(end) : printable(last)));
    return nullptr;
  }
  return nlohmann::json::parse(read_file(file, kLargestPlan), nullptr, false);
}

std::string name_of(const record::SweepRecord& sweep, const record::SweepCell& cell) {
  const std::string name = cell_name(sweep.axes, cell.values);
  return name.empty() ? "the cell" : name;
}

std::string left_text(std::optional<double> left_s) {
  if (!left_s) return "";
  return *left_s < 1 ? "" : "; about " + duration_text(*left_s) + " left";
}

/// Tells runs as they begin and end.
class SweepProgress : public SweepObserver {
 public:
  SweepProgress(const record::SweepRecord& sweep, measure::Observer& observer) : sweep_(sweep), observer_(observer) {}

  void on_begin(const record::SweepRun& run, const record::SweepCell& cell, std::size_t number,
                std::size_t all) override {
    what_ = fmt::format("[{}/{}] {}, {} {}", number, all, name_of(sweep_, cell),
                        run.part == record::kMeasurePart ? "block" : run.part, run.block);
    if (observer_.redraws()) observer_.show(what_ + " ...");
  }
  void on_end(const record::SweepRun& run, const record::SweepCell&, std::optional<double> left_s) override {
    std::string how = run.end == record::RunEnd::kInvalid ? "not to be quoted" : record::run_end_name(run.end);
    if (run.end == record::RunEnd::kDone) how = "";
    if (!run.reason.empty()) how += (how.empty() ? "" : ": ") + run.reason;
    observer_.note(fmt::format("{}: {}{}{}", what_, duration_text(run.seconds.value_or(0)),
                               how.empty() ? "" : ", " + how, left_text(left_s)));
  }

 private:
  const record::SweepRecord& sweep_;
  measure::Observer& observer_;
  std::string what_;
};

/// Stops a sweep whose program or data has changed since it began: results would be mixed.
class UnchangedGuard {
 public:
  void operator()(const record::SweepCell& cell) {
    if (program_.has_changed()) {
      throw Error(
          "the program was built again while the sweep ran; what is done stays, and the same command begins a new "
          "series with the new program");
    }
    // Large folders take a while to look at: not before each run then.
    if (look_s_ > kLongLook_s && looked_.seconds() < kManyLooks * look_s_) return;
    const Stopwatch clock;
    if (data_identity({cell.words.begin() + 1, cell.words.end()}) != cell.data) {
      throw Error(
          "the data that the sweep reads has changed while it ran; what is done stays, and the same command begins "
          "anew with the data as it is");
    }
    look_s_ = clock.seconds();
    looked_ = Stopwatch();
  }

 private:
  static constexpr double kLongLook_s = 0.1, kManyLooks = 50;
  const ProgramWatch program_;
  double look_s_ = 0;
  Stopwatch looked_;
};

/// The earlier state of the sweep in the folder; absent where there is none. Throws UsageError where the folder holds
/// something else.
std::optional<record::SweepRecord> earlier_sweep(const fs::path& folder) {
  std::error_code none;
  if (fs::exists(folder / record::kSweepFile, none)) return record::read_sweep(folder);
  if (fs::exists(folder, none) && !fs::is_directory(folder, none)) {
    throw UsageError(folder.string() + " is no folder; give another --out");
  }
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    // Of a sweep that was killed as it began.
    if (is_temporary_name(entry.path()) || entry.path().filename() == record::kPilotFolder) continue;
    throw UsageError(folder.string() + " holds no sweep, but other files; give another --out");
  }
  return std::nullopt;
}

fs::path folder_of(const SweepFlags& flags) {
  return flags.out->empty() ? fs::path(flags.plan.default_out) : fs::path(*flags.out);
}

/// Throws UsageError where a file that runs read by a relative path doesn't exist, mostly because the sweep was started
/// in another folder than its author's.
void require_places(const SweepPlan& plan) {
  for (const std::string& place : named_places(plan)) {
    std::error_code none;
    if (fs::exists(place, none)) continue;
    std::string advice = "look at its name, which counts from the folder that the sweep is started in";
    fs::path folder = plan.file.empty() ? fs::path() : fs::absolute(plan.file).parent_path();
    for (; folder.has_relative_path(); folder = folder.parent_path()) {
      if (!fs::exists(folder / place, none)) continue;
      advice = fmt::format("it is in '{}': start the sweep there", folder.string());
      break;
    }
    throw UsageError(fmt::format("'{}', which the runs are to read, isn't here; {}", printable(place), advice));
  }
}

/// Predictions that were asked for, now or earlier.
void take_predictions(const SweepFlags& flags, const std::optional<record::SweepRecord>& earlier,
                      record::SweepRecord& sweep, measure::Observer& observer) {
  if (earlier) keep_predictions(*earlier, sweep);
  if (*flags.predict) predict(flags.plan.commands, sweep, observer, program_to_start());
}

/// Makes the runs as long as --steady asks for.
void lengthen_runs(const SweepFlags& flags, record::SweepRecord& sweep, const fs::path& folder, ChildExecutor& executor,
                   measure::Observer& observer) {
  if (!sweep.steady_deviation) return;
  const SteadyPlan found = steady_plan(flags.plan, *sweep.steady_deviation, sweep.run_limit_s, folder, executor,
                                       observer, program_identity(), machine_identity());
  observer.note(found.sentence);
  sweep.cells = cells_of(found.plan);
  sweep.steady = found.sentence;
  executor.note_in_records(found.sentence);
}

/// Makes the runs that are missing. Returns why it ended before all were made; "" = all were made.
std::string make_runs(const SweepFlags& flags, record::SweepRecord& sweep, const fs::path& folder,
                      measure::Observer& observer) {
  const auto earlier = earlier_sweep(folder);
  ChildExecutor executor({.prepare = sweep.prepare,
                          .cleanup = sweep.cleanup,
                          .cool_down = sweep.cool_down,
                          .run_limit_s = sweep.run_limit_s});
  require_writable_directory(folder);
  const FolderLock lock(folder);
  if (lock.found() == LockState::kHeld) throw UsageError("another sweep is writing to " + folder.string());
  remove_left_temporaries(folder);
  lengthen_runs(flags, sweep, folder, executor, observer);
  const std::string news = choose_series(sweep, earlier, program_identity(), machine_identity());
  sweep.started = earlier ? earlier->started : utc_now_text();
  UnchangedGuard guard;
  if (!news.empty()) observer.note(news);
  take_predictions(flags, earlier, sweep, observer);
  record::write_sweep(folder, sweep);
  if (!flags.reference->empty()) {  // it is kept with the sweep, if it can be read
    read_reference(*flags.reference);
    constexpr std::uint64_t kLargest = 10'000'000;
    write_file_atomically(folder / record::kReferenceFile, read_file(*flags.reference, kLargest));
  }
  SweepProgress progress(sweep, observer);
  try {
    return run_sweep(sweep, folder, executor, progress,
                     {.again_failed = *flags.again == "failed",
                      .before_run = [&](const record::SweepCell& cell) { guard(cell); }})
        .stopped;
  } catch (...) {
    observer.finish();
    throw;
  }
}

std::size_t cells_with(const Sweep& sweep, std::size_t SweepCellRuns::*runs) {
  return static_cast<std::size_t>(
      std::ranges::count_if(sweep.cells, [&](const SweepCellRuns& cell) { return cell.*runs > 0; }));
}

}  // namespace

void predict(const MeasuredCommands& commands, record::SweepRecord& sweep, measure::Observer& observer,
             const fs::path& program) {
  if (!measured_command(commands, sweep.command).is_planned_by) {
    throw UsageError("--predict: only trainings are planned, not '" + sweep.command + "'");
  }
  std::map<std::string, std::vector<CompletedCell>> works;
  for (record::SweepCell& cell : sweep.cells) {
    if (cell.predicted) continue;
    CompletedCell completed(cell, commands);
    works[completed.work()].push_back(std::move(completed));
  }
  for (const auto& [work, cells] : works) {
    std::vector<std::string> placements;
    for (const CompletedCell& cell : cells) {
      const std::string on = cell.value("--on");
      if (std::ranges::find(placements, on) == placements.end()) placements.push_back(on);
    }
    observer.note(fmt::format("planning {}", fmt::join(placements, ", ")));
    std::vector<std::string> words = plan_words(cells.front());
    words.push_back(fmt::format("--on={}", fmt::join(placements, ",")));
    const nlohmann::json plan = run_plan_child(program, words, cells.front().cell.environment, observer);
    if (!plan.is_object()) continue;
    for (const CompletedCell& cell : cells) take_prediction(plan, cell);
  }
}

std::size_t SweepOutcome::failed_cells() const {
  return cells_with(sweep, &SweepCellRuns::failed);
}

std::size_t SweepOutcome::invalid_cells() const {
  return cells_with(sweep, &SweepCellRuns::invalid);
}

std::string choose_series(record::SweepRecord& sweep, const std::optional<record::SweepRecord>& earlier,
                          const std::string& program, const std::string& machine) {
  if (earlier) sweep.series = earlier->series;
  for (const record::SweepSeries& series : sweep.series) {
    if (series.program != program || !is_same_machine(series.machine, machine)) continue;
    sweep.series_now = series.number;
    return "";
  }
  const bool same_machine = !sweep.series.empty() && is_same_machine(sweep.series.back().machine, machine);
  sweep.series_now = static_cast<int>(sweep.series.size()) + 1;
  sweep.series.push_back({sweep.series_now, utc_now_text(), program, machine});
  if (sweep.series.size() == 1) return "";
  return fmt::format("a new series begins: {} than in the runs so far, which are not mixed with what comes",
                     same_machine ? "the program is another" : "the machine is another");
}

std::vector<std::string> named_places(const SweepPlan& plan) {
  // For the first kOnlyPlaces keys each value is a path, unless it is like synth:digits; for the others only values
  // with a slash are.
  constexpr std::size_t kOnlyPlaces = 4;
  constexpr std::array kKeys = {"data",    "images", "dir",      "calibration-data", "model",
                                "weights", "labels", "detector", "detector-weights", "embedder"};
  std::vector<std::string> places;
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    const auto take = [&](const SweepValue& words) {
      std::ranges::copy_if(words, std::back_inserter(places), [&](const std::string& word) {
        const bool is_place = i < kOnlyPlaces || word.find('/') != std::string::npos;
        return is_place && word != "-" && !word.starts_with('/') && word.find_first_of(":*?[") == std::string::npos;
      });
    };
    if (const auto fixed = plan.fixed.find(kKeys[i]); fixed != plan.fixed.end()) take(fixed->second);
    if (const auto values = plan.values.find(kKeys[i]); values != plan.values.end()) {
      for (const auto& [text, words] : values->second) take(words);
    }
  }
  return places;
}

void keep_predictions(const record::SweepRecord& earlier, record::SweepRecord& sweep) {
  if (earlier.series.size() != sweep.series.size()) return;  // another program may be faster
  for (record::SweepCell& cell : sweep.cells) {
    const auto known = std::ranges::find(earlier.cells, cell.key, &record::SweepCell::key);
    if (known != earlier.cells.end()) cell.predicted = known->predicted;
  }
}

record::SweepRecord asked_for(const SweepFlags& flags) {
  record::SweepRecord sweep;
  sweep.title = flags.plan.title;
  sweep.command = flags.plan.command;
  sweep.version = program_version();
  sweep.words = measure::command_line();
  sweep.axes = flags.plan.axes;
  flags.fill(sweep);
  sweep.cells = cells_of(flags.plan);
  return sweep;
}

SweepOutcome sweep(const SweepFlags& flags, measure::Observer& observer, const StopFlag* stop) {
  const WorkScope scope(this_work_until(stop));
  // Before cells are made, as a cell's identity includes its data.
  const std::string error = shell_error("--setup", *flags.setup);
  if (stop_requested()) throw Interrupted("the sweep was interrupted; the same command goes on with it");
  if (!error.empty()) throw Error(error + ", so nothing was run");
  if (flags.prepare->empty()) require_places(flags.plan);  // which may make them
  const fs::path folder = folder_of(flags);
  record::SweepRecord sweep = asked_for(flags);
  const std::string stopped = make_runs(flags, sweep, folder, observer);
  if (!stopped.empty()) observer.note(stopped + "; the same command goes on with the sweep");
  SweepOutcome outcome{.sweep = load_sweep(folder), .stopped = stopped, .page = {}};
  write_file_atomically(folder / "runs.csv", sweep_csv(outcome.sweep));
  if (!*flags.no_html) outcome.page = write_sweep_page(folder / "report.html", outcome.sweep);
  return outcome;
}

std::string sweep_dry_run_text(const SweepFlags& flags, measure::Observer& observer) {
  record::SweepRecord sweep = asked_for(flags);
  const fs::path folder = folder_of(flags);
  const auto earlier = earlier_sweep(folder);
  const std::string news = choose_series(sweep, earlier, program_identity(), machine_identity());
  take_predictions(flags, earlier, sweep, observer);
  Schedule schedule(sweep, record::read_journal(folder));
  std::string text = fmt::format("{} of 'evener {}', {}\n", counted(sweep.cells.size(), "cell"), sweep.command,
                                 stopping_rule_text(sweep));
  if (!news.empty()) text += news + "\n";
  if (sweep.steady_deviation) {
    text += fmt::format("pilot runs come first, which make {} so large that within a run speed deviates by {:g} %\n",
                        run_length_of(flags.plan).key, 100 * *sweep.steady_deviation);
  }
  const std::vector<std::size_t> left = schedule.runs_left();
  for (std::size_t cell = 0; cell < sweep.cells.size(); ++cell) {
    text += fmt::format("  {}: {} to come: evener {}\n", name_of(sweep, sweep.cells[cell]),
                        counted(std::ranges::count(left, cell), "run"), fmt::join(sweep.cells[cell].words, " "));
  }
  const auto seconds = expected_seconds(sweep, schedule);
  return text + fmt::format("{} done, {} to come{}\n", counted(schedule.done(), "run"), left.size(),
                            left.empty() ? ""
                            : seconds    ? ", about " + duration_text(*seconds)
                                      : "; how long they take is known once the first one has ended, and for trainings "
                                        "roughly with --predict");
}

}  // namespace evener::sweeps
