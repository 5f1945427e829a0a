// The progress of loading and training on stderr: one line redrawn in place on a terminal, now and then a line
// elsewhere.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "job/observer.h"
#include "job/progress.h"
#include "job/train/training.h"

namespace evener::cli {

/// Lines on stderr, of which the last may be redrawn; results on stdout.
class ProgressLine : public job::Observer {
 public:
  /// `quiet`: nothing at all on stderr.
  explicit ProgressLine(bool quiet);

  /// A line that stays. What a terminal would obey is taken out: file names may be in it.
  void note(const std::string& text) override;
  /// How far the work is: redrawn in place on a terminal, a line that stays elsewhere.
  void show(const std::string& text) override;
  /// Ends a line that is being redrawn, so that what is printed next starts a new one.
  void finish() override;
  bool redraws() const override { return terminal_; }
  /// Throws Error where stdout can't be written to.
  void tell(const std::string& lines) override;

 private:
  const bool quiet_, terminal_;
  bool line_open_ = false;
};

/// Of a command that goes on after it has told something: whoever waits for the line gets it at once.
class PromptLine final : public ProgressLine {
 public:
  using ProgressLine::ProgressLine;
  void tell(const std::string& lines) override;
};

class TrainProgress : public job::TrainWatcher {
 public:
  /// `epochs`: of the whole run, for the time left. `quiet`: nothing at all.
  TrainProgress(int epochs, bool quiet);

  void loading(task::LoadingStep step, std::size_t done, std::size_t images) override;
  void setup(const task::TrainSetup& setup) override;
  void step(const task::StepProgress& progress) override;
  void epoch(const record::EpochRecord& epoch) override;

  void note(const std::string& text) override { line_.note(text); }
  void show(const std::string& text) override { line_.show(text); }
  void finish() override { line_.finish(); }
  bool redraws() const override { return line_.redraws(); }

 private:
  std::string text_of(const task::StepProgress& progress) const;
  double seconds_left(const task::StepProgress& progress) const;

  int epochs_;
  ProgressLine line_;
  job::LoadingProgress loading_{line_};
  std::optional<job::RedrawPace> pace_;  // of lines within an epoch; none before the first step
  double overhead_s_ = 0;                // of an epoch beside its training: validation and checkpoint
  double epoch_end_s_ = 0;
  bool names_best_ = true;  // few images to validate on don't tell which epoch is the best
};

}  // namespace evener::cli
