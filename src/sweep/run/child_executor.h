// Makes the runs of a sweep in child processes, so that a memory peak, a kill or a lack of memory concerns a single
// run.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "sweep/run/runner.h"

namespace evener::sweeps {

// Waits between runs until the machine is as idle and as cool, and draws as little power, as at the start.

/// The machine's clock and sensors, as functions that tests can replace.
struct CoolDownMachine {
  std::function<double()> now_s;
  std::function<void(double)> sleep_s;  // returns early after a stop request
  std::function<double()> others_load;  // other programs' share of the CPUs; takes a second to measure
  std::function<std::optional<double>()> warmest_celsius;
  std::function<std::optional<double>()> watts;  // mean power during the last others_load(); absent without a sensor
};
/// The functions for this machine; /proc and /sys are looked for below `root`.
CoolDownMachine machine_to_cool(const std::filesystem::path& root = "/");

/// A cool-down by its text. "30": waits 30 seconds. "load": waits until other programs use hardly more of the CPUs than
/// at the start, the warmest sensor, if there is one, is at most 3 degrees warmer than then, and the power, if a sensor
/// tells it, at most 5 W more; at most two minutes. "": doesn't wait.
class CoolDown {
 public:
  /// Throws UsageError for any other text. For "load", measures the machine for a second.
  explicit CoolDown(const std::string& text, CoolDownMachine machine = machine_to_cool());

  /// Returns early after a stop request. Returns a sentence for the run's record: how long it waited, and how far from
  /// the start the machine was then; "" without a cool-down.
  std::string wait() const;

 private:
  /// The machine now, less how it was at the start.
  struct Difference {
    double load = 0;
    std::optional<double> celsius, watts;
  };
  Difference look() const;

  CoolDownMachine machine_;
  double seconds_ = 0;
  bool by_load_ = false;
  double load_at_start_ = 0;                // other programs' share of the CPUs
  std::optional<double> celsius_at_start_;  // of the warmest sensor
  std::optional<double> watts_at_start_;
};

/// The temperature of the warmest thermal zone; absent if there are none, as in virtual machines.
std::optional<double> warmest_celsius(const std::filesystem::path& root = "/");

struct ChildExecutorOptions {
  std::string prepare, cleanup;  // shell commands before and after each run; "" = none
  std::string cool_down;         // see CoolDown
  std::optional<double> run_limit_s;
  std::filesystem::path program = {};  // the program to run; empty: this program
  std::string note = {};               // see ChildExecutor::note_in_records()
};

/// Runs a shell command line, with this program's path in $EVENER, which ends at its first failing command. Returns an
/// error message that names `option`, or "" on success.
std::string shell_error(const char* option, const std::string& command);

class ChildExecutor final : public Executor {
 public:
  /// Throws UsageError for an invalid `cool_down`.
  explicit ChildExecutor(const ChildExecutorOptions& options);

  /// The run's stderr goes to the file `folder`.log.
  ExecutedRun execute(const record::SweepCell& cell, const std::filesystem::path& folder) override;
  /// Adds a sentence to the notes in the record of each run from now on.
  void note_in_records(std::string sentence) { options_.note = std::move(sentence); }
  std::optional<ExecutedRun> left_in(const std::filesystem::path& folder) override;

 private:
  ChildExecutorOptions options_;
  CoolDown cool_down_;
};

}  // namespace evener::sweeps
