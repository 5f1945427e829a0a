#include "sweep/run/child_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "base/child.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/files.h"
#include "base/folder_lock.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/own_program.h"
#include "base/stop.h"
#include "measure/energy_meter.h"
#include "measure/machine.h"
#include "measure/sensors/open_sensors.h"
#include "record/metric.h"
#include "record/record.h"

namespace evener::sweeps {
namespace {

namespace fs = std::filesystem;
using record::RunEnd;

constexpr double kLook_s = 1;  // duration of a measurement of the load
constexpr double kLongestCoolDown_s = 120;
constexpr double kLongestFixed_s = 24 * 3600;
constexpr double kMoreLoad = 0.05;  // share of the CPUs that load may exceed its start by
constexpr double kWarmer_celsius = 3;
constexpr double kMoreWatts = 5;

void sleep_s(double seconds) {
  const Stopwatch clock;
  while (clock.seconds() < seconds && !stop_requested()) {
    const double left = seconds - clock.seconds();
    std::this_thread::sleep_for(std::chrono::duration<double>(std::clamp(left, 0.0, 0.1)));
  }
}

/// The energy sensors, opened for the first look: most sweeps don't look at all.
class PowerLook {
 public:
  explicit PowerLook(fs::path root) : root_(std::move(root)) {}

  void begin() {
    if (!meter_) meter_.emplace(measure::open_sensors({}, root_, boot_now_s));
    meter_->poll();
    begin_s_ = meter_->seconds();
    begin_j_ = meter_->joules_so_far();
  }
  void end() {
    meter_->poll();
    const auto joules = meter_->joules_so_far();
    const double seconds = meter_->seconds() - begin_s_;
    watts_ = joules && begin_j_ && seconds > 0 ? std::optional((*joules - *begin_j_) / seconds) : std::nullopt;
  }
  std::optional<double> watts() const { return watts_; }

 private:
  fs::path root_;
  std::optional<measure::EnergyMeter> meter_;
  double begin_s_ = 0;
  std::optional<double> begin_j_, watts_;
};

/// ", 12 W more"; "" if absent.
std::string difference_text(const std::optional<double>& more, const char* unit) {
  return more ? fmt::format(", {:.0f} {} {}", std::abs(*more), unit, *more < 0 ? "less" : "more") : "";
}

constexpr int kDoneButInvalid = 3;  // the program's exit code
constexpr const char* kOurMessage = "evener: ";

/// The main speed of the run, or else its total time.
std::optional<double> figure_of(const record::Record& record) {
  const auto metrics = record::metrics_of(record);
  const record::Metric* speed = record::main_speed(metrics);
  return speed != nullptr ? speed->value : record.times.total;
}

ExecutedRun from_record(const record::Record& record, double seconds) {
  ExecutedRun run{.end = RunEnd::kDone, .reason = {}, .seconds = seconds, .figure = figure_of(record)};
  if (record.validity.valid == false) {
    run.end = RunEnd::kInvalid;
    for (const auto& reason : record.validity.reasons) run.reason += (run.reason.empty() ? "" : "; ") + reason.what;
  }
  return run;
}

ExecutedRun failed(RunEnd end, std::string reason, double seconds) {
  return {.end = end, .reason = std::move(reason), .seconds = seconds, .figure = {}};
}

/// The result of a process that ended well, from its record, to which notes on the sweep around it are added.
ExecutedRun read_result(const fs::path& folder, double seconds, const std::vector<std::string>& notes) {
  try {
    record::Record record = record::read_record(folder);
    if (!notes.empty()) {
      record.notes.insert(record.notes.end(), notes.begin(), notes.end());
      record::write_record(folder, record);
    }
    return from_record(record, seconds);
  } catch (const Error& error) {
    return failed(RunEnd::kFailed, fmt::format("the record of the run can't be read: {}", error.what()), seconds);
  }
}

class RunProcess {
 public:
  RunProcess(const record::SweepCell& cell, fs::path folder, const ChildExecutorOptions& options,
             const std::string& cool_down)
      : cell_(cell),
        folder_(std::move(folder)),
        limit_s_(options.run_limit_s),
        program_(options.program.empty() ? program_to_start() : options.program) {
    for (const std::string& note : {cool_down, options.note}) {
      if (!note.empty()) notes_.push_back(note);
    }
  }

  ExecutedRun run() {
    std::vector<std::string> words = {"evener"};
    words.insert(words.end(), cell_.words.begin(), cell_.words.end());
    words.insert(words.end(), {"--out", folder_.string()});
    std::ofstream log(folder_.string() + ".log", std::ios::binary);
    const std::uint64_t kills_before = oom_kills();
    ChildOptions options;
    options.environment = cell_.environment;
    options.on_stderr_line = [&](const std::string& line) {
      log << line << '\n';
      if (line.starts_with(kOurMessage)) last_message_ = printable(line.substr(std::string_view(kOurMessage).size()));
    };
    options.give_up = [&] {
      is_late_ = is_late_ || (limit_s_ && clock_.seconds() > *limit_s_);
      return is_late_;
    };
    const ChildEnd end = run_child(program_, words, options);
    const double seconds = clock_.seconds();
    if (is_late_) {
      return failed(RunEnd::kOutOfTime, fmt::format("ended after --run-limit, {}", duration_text(*limit_s_)), seconds);
    }
    if (stop_requested()) throw Interrupted("the sweep was interrupted; the same command goes on with it");
    if (end.signal == 0 && (end.exit_code == 0 || end.exit_code == kDoneButInvalid)) {
      return read_result(folder_, seconds, notes_);
    }
    return failure(end, oom_kills() > kills_before, seconds);
  }

 private:
  ExecutedRun failure(const ChildEnd& end, bool kernel_killed, double seconds) const {
    if (end.signal == SIGKILL && kernel_killed) {
      return failed(RunEnd::kOutOfMemory, "the kernel ended it for want of memory", seconds);
    }
    if (end.signal != 0) return failed(RunEnd::kKilled, "ended by " + end_text(end), seconds);
    const bool no_memory = last_message_.starts_with("out of memory") ||
                           last_message_.find("does not fit into the memory") != std::string::npos;
    return failed(
        no_memory ? RunEnd::kOutOfMemory : RunEnd::kFailed,
        last_message_.empty() ? end_text(end) + "; its log is " + folder_.filename().string() + ".log" : last_message_,
        seconds);
  }

  const record::SweepCell& cell_;
  const fs::path folder_;
  std::vector<std::string> notes_;
  const std::optional<double> limit_s_;
  const fs::path program_;
  const Stopwatch clock_;
  std::string last_message_;
  bool is_late_ = false;
};

}  // namespace

CoolDownMachine machine_to_cool(const fs::path& root) {
  const auto power = std::make_shared<PowerLook>(root);
  return {.now_s = now_s,
          .sleep_s = sleep_s,
          .others_load =
              [root, power] {
                power->begin();
                const measure::OthersLoad load(root);
                sleep_s(kLook_s);
                power->end();
                return load.share().value_or(0);
              },
          .warmest_celsius = [root] { return warmest_celsius(root); },
          .watts = [power] { return power->watts(); }};
}

std::optional<double> warmest_celsius(const fs::path& root) {
  std::optional<double> warmest;
  std::error_code error;
  for (auto zone = fs::directory_iterator(root / "sys/class/thermal", error);
       !error && zone != fs::directory_iterator(); zone.increment(error)) {
    std::ifstream file(zone->path() / "temp");
    double thousandths = 0;
    if (file >> thousandths) warmest = std::max(warmest.value_or(-300), thousandths / 1000);
  }
  return warmest;
}

CoolDown::CoolDown(const std::string& text, CoolDownMachine machine) : machine_(std::move(machine)) {
  if (text.empty()) return;
  if (text == "load") {
    by_load_ = true;
    load_at_start_ = machine_.others_load();
    celsius_at_start_ = machine_.warmest_celsius();
    watts_at_start_ = machine_.watts();
    return;
  }
  seconds_ = to_number<double>(text).value_or(-1);
  if (!(seconds_ >= 0) || seconds_ > kLongestFixed_s) {
    throw UsageError(fmt::format("--cool-down is {}; it has to be seconds (such as 30), or load", quoted_text(text)));
  }
}

CoolDown::Difference CoolDown::look() const {
  const auto more = [](const std::optional<double>& now, const std::optional<double>& start) {
    return now && start ? std::optional(*now - *start) : std::nullopt;
  };
  Difference difference;
  difference.load = machine_.others_load() - load_at_start_;
  difference.celsius = more(machine_.warmest_celsius(), celsius_at_start_);
  difference.watts = more(machine_.watts(), watts_at_start_);
  return difference;
}

std::string CoolDown::wait() const {
  if (!by_load_) {
    if (seconds_ > 0) machine_.sleep_s(seconds_);
    return seconds_ > 0 ? fmt::format("waited {:g} s before the run (--cool-down)", seconds_) : "";
  }
  const double begin_s = machine_.now_s();
  Difference now;
  bool is_as_at_start = false;
  do {
    now = look();
    is_as_at_start =
        now.load <= kMoreLoad && now.celsius.value_or(0) <= kWarmer_celsius && now.watts.value_or(0) <= kMoreWatts;
  } while (!is_as_at_start && machine_.now_s() - begin_s < kLongestCoolDown_s && !stop_requested());
  return fmt::format("waited {:.0f} s before the run, {} (--cool-down): others' load{}{}{}", machine_.now_s() - begin_s,
                     is_as_at_start ? "until the machine was nearly as at the start"
                                    : "the longest, and the machine was still not as at the start",
                     difference_text(100 * now.load, "% of the CPUs").substr(1),
                     difference_text(now.celsius, "degrees"), difference_text(now.watts, "W"));
}

std::string shell_error(const char* option, const std::string& command) {
  if (command.empty()) return "";
  ChildOptions options;
  options.environment = {{"EVENER", program_file().string()}};
  const ChildEnd end = run_child("/bin/sh", {"sh", "-ec", command}, options);
  return end.good() ? "" : fmt::format("{} '{}' ended with {}", option, printable(command), end_text(end));
}

ChildExecutor::ChildExecutor(const ChildExecutorOptions& options) : options_(options), cool_down_(options.cool_down) {}

ExecutedRun ChildExecutor::execute(const record::SweepCell& cell, const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);  // remains of an interrupted run
  require_writable_directory(folder.parent_path());
  const std::string cool_down = cool_down_.wait();
  const std::string no_start = shell_error("--prepare", options_.prepare);
  if (stop_requested()) throw Interrupted("the sweep was interrupted; the same command goes on with it");
  if (!no_start.empty()) return failed(RunEnd::kFailed, no_start + ", so nothing was run", 0);
  ExecutedRun run = RunProcess(cell, folder, options_, cool_down).run();
  const std::string no_end = shell_error("--cleanup", options_.cleanup);
  if (!no_end.empty() && record::has_figures(run.end)) {
    run.end = RunEnd::kFailed;
    run.reason = no_end + "; what the run measured is in its folder, and not used";
  }
  return run;
}

std::optional<ExecutedRun> ChildExecutor::left_in(const fs::path& folder) {
  try {
    if (folder_lock_state(folder) == LockState::kHeld) return std::nullopt;
    const record::Record record = record::read_record(folder);
    if (record.status != record::Status::kDone) return std::nullopt;
    return from_record(record, record.times.total.value_or(0));
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace evener::sweeps
