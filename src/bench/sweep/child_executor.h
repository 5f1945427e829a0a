// Runs of a sweep as child processes of this program: memory peaks, kills and the want of memory belong to one cell.
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
  std::filesystem::path program = {};  // that makes the runs; empty: this one
};

/// Runs shell commands, to which $EVENER is this program, up to the first that fails; says what went wrong of what
/// `option` asked for, "" for nothing.
std::string shell_error(const char* option, const std::string& command);

class ChildExecutor final : public Executor {
 public:
  /// Throws as CoolDown does.
  explicit ChildExecutor(const ChildExecutorOptions& options);

  /// What the run says on stderr goes to `folder`.log.
  ExecutedRun execute(const record::SweepCell& cell, const std::filesystem::path& folder) override;
  std::optional<ExecutedRun> left_in(const std::filesystem::path& folder) override;

 private:
  ChildExecutorOptions options_;
  CoolDown cool_down_;
};

}  // namespace evener::bench
