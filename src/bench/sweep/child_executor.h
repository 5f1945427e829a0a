// Makes the runs of a sweep in child processes, so that a memory peak, a kill or a lack of memory concerns a single
// run.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "bench/sweep/cool_down.h"
#include "bench/sweep/runner.h"

namespace evener::bench {

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

}  // namespace evener::bench
