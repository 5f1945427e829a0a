// evener sweep: the same work in every way, in a fair order, as one table.
#include "report/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/folder_lock.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/terminal_text.h"
#include "base/version.h"
#include "bench/sweep/child_executor.h"
#include "bench/sweep/identity.h"
#include "bench/sweep/runner.h"
#include "cli/options/sweep_flags.h"
#include "cli/progress.h"
#include "cli/sweep_plan.h"
#include "job/train/hosts.h"
#include "report/sweep_page.h"
#include "report/table.h"

namespace evener::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSweepExamples = R"(Examples:
  evener sweep train resnet34 --data synth:masks:2400 --size 64x48 --epochs 2 --on cpu/t1,cpu/t2,2xcpu/t1 --repeats 5
  evener sweep infer resnet18 random:500 --on cpu/t1,cpu/t2 --precision fp32,bf16 --batch 2^0..2^4 --until ci=2%
  evener sweep OMP_WAIT_POLICY=active,passive train mlp:784-256-10 --data synth:digits --repeats 10
  evener sweep experiments/threads.toml --dry-run
  evener sweep experiments/threads.toml
  evener sweep experiments/threads.toml --again failed
  evener report runs/threads
  evener compare runs/threads:on=cpu/t1 runs/threads:on=cpu/t2)";

std::string name_of(const measure::SweepRecord& sweep, const measure::SweepCell& cell) {
  const std::string name = bench::cell_name(sweep.axes, cell.values);
  return name.empty() ? "the cell" : name;
}

std::string left_text(std::optional<double> left_s) {
  if (!left_s) return "";
  return *left_s < 1 ? "" : "; about " + duration_text(*left_s) + " left";
}

class SweepProgress : public bench::SweepObserver {
 public:
  SweepProgress(const measure::SweepRecord& sweep, bool quiet) : sweep_(sweep), line_(quiet) {}

  void on_begin(const measure::SweepRun& run, const measure::SweepCell& cell, std::size_t number,
                std::size_t all) override {
    what_ = fmt::format("[{}/{}] {}, {} {}", number, all, name_of(sweep_, cell),
                        run.part == measure::kMeasurePart ? "block" : run.part, run.block);
    if (line_.redraws()) line_.show(what_ + " ...");
  }
  void on_end(const measure::SweepRun& run, const measure::SweepCell&, std::optional<double> left_s) override {
    std::string how = run.end == measure::RunEnd::kInvalid ? "INVALID" : measure::run_end_name(run.end);
    if (run.end == measure::RunEnd::kDone) how = "";
    if (!run.reason.empty()) how += (how.empty() ? "" : ": ") + run.reason;
    line_.note(fmt::format("{}: {}{}{}", what_, duration_text(run.seconds.value_or(0)), how.empty() ? "" : ", " + how,
                           left_text(left_s)));
  }
  void finish() { line_.finish(); }
  void note(const std::string& text) { line_.note(text); }

 private:
  const measure::SweepRecord& sweep_;
  ProgressLine line_;
  std::string what_;
};

/// Stops a sweep whose program or data has changed since it began: results would be mixed.
class UnchangedGuard {
 public:
  void operator()(const measure::SweepCell& cell) {
    if (program_.has_changed()) {
      throw Error(
          "the program was built again while the sweep ran; what is done stays, and the same command begins a new "
          "series with the new program");
    }
    // Large folders take a while to look at: not before each run then.
    if (look_s_ > kLongLook_s && looked_.seconds() < kManyLooks * look_s_) return;
    const Stopwatch clock;
    if (bench::data_identity({cell.words.begin() + 1, cell.words.end()}) != cell.data) {
      throw Error(
          "the data that the sweep reads has changed while it ran; what is done stays, and the same command begins "
          "anew with the data as it is");
    }
    look_s_ = clock.seconds();
    looked_ = Stopwatch();
  }

 private:
  static constexpr double kLongLook_s = 0.1, kManyLooks = 50;
  const bench::ProgramWatch program_;
  double look_s_ = 0;
  Stopwatch looked_;
};

/// The earlier state of the sweep in the folder; absent where there is none. Throws UsageError where the folder holds
/// something else.
std::optional<measure::SweepRecord> earlier_sweep(const fs::path& folder) {
  std::error_code none;
  if (fs::exists(folder / measure::kSweepFile, none)) return measure::read_sweep(folder);
  if (fs::exists(folder, none) && !fs::is_directory(folder, none)) {
    throw UsageError(folder.string() + " is no folder; give another --out");
  }
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (is_temporary_name(entry.path())) continue;  // of a sweep that was killed as it began
    throw UsageError(folder.string() + " holds no sweep, but other files; give another --out");
  }
  return std::nullopt;
}

/// The series that this program on this machine goes on with, or begins. Returns why a new one begins; "" = none does.
std::string choose_series(measure::SweepRecord& sweep, const std::optional<measure::SweepRecord>& earlier) {
  if (earlier) sweep.series = earlier->series;
  const std::string program = bench::program_identity(), machine = bench::machine_identity();
  for (const measure::SweepSeries& series : sweep.series) {
    if (series.program != program || series.machine != machine) continue;
    sweep.series_now = series.number;
    return "";
  }
  const bool same_machine = !sweep.series.empty() && sweep.series.back().machine == machine;
  sweep.series_now = static_cast<int>(sweep.series.size()) + 1;
  sweep.series.push_back({sweep.series_now, utc_now_text(), program, machine});
  if (sweep.series.size() == 1) return "";
  return fmt::format("a new series begins: {} than in the runs so far, which are not mixed with what comes",
                     same_machine ? "the program is another" : "the machine is another");
}

class Sweep {
 public:
  Sweep(const SweepFlags& flags, SweepPlan plan, std::function<Command()> program)
      : flags_(flags), plan_(std::move(plan)), program_(std::move(program)) {
    folder_ = flags_.out->empty() ? fs::path(plan_.default_out) : fs::path(*flags_.out);
    sweep_.title = plan_.title;
    sweep_.command = plan_.command;
    sweep_.version = program_version();
    sweep_.words = job::command_line();
    sweep_.axes = plan_.axes;
    flags_.fill(sweep_);
    sweep_.cells = cells_of(plan_, program_());
    check_cells(plan_, sweep_.cells, program_);
  }

  int dry_run() {
    const auto earlier = earlier_sweep(folder_);
    const std::string news = choose_series(sweep_, earlier);
    bench::Schedule schedule(sweep_, measure::read_journal(folder_));
    fmt::print("{} of 'evener {}', {}\n", counted(sweep_.cells.size(), "cell"), sweep_.command,
               stopping_rule_text(sweep_));
    if (!news.empty()) fmt::print("{}\n", news);
    const std::vector<std::size_t> left = schedule.runs_left();
    for (std::size_t cell = 0; cell < sweep_.cells.size(); ++cell) {
      fmt::print("  {}: {} to come: evener {}\n", name_of(sweep_, sweep_.cells[cell]),
                 counted(std::ranges::count(left, cell), "run"), fmt::join(sweep_.cells[cell].words, " "));
    }
    const auto seconds = bench::expected_seconds(sweep_, schedule);
    fmt::print("{} done, {} to come{}\n", counted(schedule.done(), "run"), left.size(),
               left.empty() ? ""
               : seconds    ? ", about " + duration_text(*seconds)
                            : "; how long they take is known once the first one has ended");
    return 0;
  }

  int run() {
    const auto earlier = earlier_sweep(folder_);
    bench::ChildExecutor executor({*flags_.prepare, *flags_.cleanup, *flags_.cool_down, *flags_.run_limit});
    require_writable_directory(folder_);
    const FolderLock lock(folder_);
    if (lock.found() == LockState::kHeld) throw UsageError("another sweep is writing to " + folder_.string());
    remove_left_temporaries(folder_);
    const std::string news = choose_series(sweep_, earlier);
    sweep_.started = earlier ? earlier->started : utc_now_text();
    UnchangedGuard guard;
    measure::write_sweep(folder_, sweep_);
    SweepProgress progress(sweep_, *flags_.quiet);
    if (!news.empty()) progress.note(news);
    bench::SweepOutcome outcome;
    try {
      outcome = bench::run_sweep(sweep_, folder_, executor, progress,
                                 {.again_failed = *flags_.again == "failed",
                                  .before_run = [&](const measure::SweepCell& cell) { guard(cell); }});
    } catch (...) {
      progress.finish();
      throw;
    }
    if (!outcome.stopped.empty()) progress.note(outcome.stopped + "; the same command goes on with the sweep");
    return tell();
  }

 private:
  int tell() const {
    const report::Sweep sweep = report::load_sweep(folder_);
    std::fputs(report::terminal_text(report::sweep_table(sweep)).c_str(), stdout);
    for (const std::string& sentence : report::sweep_conclusion(sweep)) fmt::print("{}\n", one_line(sentence));
    if (!*flags_.no_html) {
      const report::WrittenPage page = report::write_sweep_page(folder_ / "report.html", sweep);
      fmt::print(stderr, "report: {}\n", fs::absolute(page.path).lexically_normal().string());
      if (!page.hint.empty()) fmt::print(stderr, "warning: {}\n", page.hint);
    }
    const auto has = [&](bool (*is)(const report::SweepCellRuns&)) { return std::ranges::any_of(sweep.cells, is); };
    if (has([](const report::SweepCellRuns& cell) { return cell.failed > 0; })) return 1;
    return has([](const report::SweepCellRuns& cell) { return cell.invalid > 0; }) ? 3 : 0;
  }

  const SweepFlags& flags_;
  const SweepPlan plan_;
  const std::function<Command()> program_;
  fs::path folder_;
  measure::SweepRecord sweep_;
};

}  // namespace

Command sweep_command(std::function<Command()> program) {
  const auto flags = std::make_shared<SweepFlags>();
  const auto plan = std::make_shared<SweepPlan>();
  return {.name = "sweep",
          .summary = "Run the same work in every way, repeatedly and in a fair order, as one table",
          .options = {flags.get()},
          .footer = kSweepExamples,
          .passes_words_on = true,
          .complete =
              [flags, plan, program] {
                std::vector<std::string> words = *flags->what;
                if (words.empty()) return;
                const Command all = program();
                const bool is_file = words.front().ends_with(".toml") && fs::exists(words.front());
                if (!is_file) {
                  *plan = plan_from_words(words, *flags, all);
                  return;
                }
                const std::string path = words.front();
                words.erase(words.begin());
                own_options_from_words(words, *flags);
                *plan = plan_from_file(path, *flags, all);
              },
          .run =
              [flags, plan, program] {
                Sweep sweep(*flags, *plan, program);
                return *flags->dry_run ? sweep.dry_run() : sweep.run();
              }};
}

}  // namespace evener::cli
