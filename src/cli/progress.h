// Shows progress on stderr: one line redrawn in place on a terminal, and elsewhere a new line now and then.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "job/observer.h"
#include "job/progress.h"
#include "job/train/training.h"

namespace evener::cli {

/// Whether lines may be redrawn at `descriptor`: it is a terminal that TERM doesn't call "dumb". Redrawing takes no
/// escape sequences.
bool may_redraw(int descriptor);
/// Whether texts may be coloured there, which takes escape sequences: where lines may be redrawn, unless NO_COLOR is
/// set.
bool may_colour(int descriptor);

/// Prints messages and progress on stderr, and results on stdout.
class ProgressLine : public job::Observer {
 public:
  /// `quiet`: nothing at all on stderr.
  explicit ProgressLine(bool quiet);

  /// Prints a line that stays. Control characters are removed, as a hostile file name could send commands to the
  /// terminal.
  void note(const std::string& text) override;
  /// Shows the progress: redrawn in place on a terminal, a line that stays elsewhere.
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

/// Flushes each result at once, for commands that go on afterwards and programs that wait for the line.
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
  std::optional<job::RedrawPace> pace_;  // of lines within an epoch; absent before the first step
  double overhead_s_ = 0;                // time of an epoch beside its training: validation and checkpoint
  double epoch_end_s_ = 0;
  bool names_best_ = true;  // false with few validation images, which can't tell which epoch is the best
};

/// For a command that was given `words` to look at: where one is a camera or a pipe each answer is flushed at once, as
/// whoever reads them waits for it. `quiet`: see ProgressLine.
std::unique_ptr<ProgressLine> progress_for(const std::vector<std::string>& words, bool quiet);

}  // namespace evener::cli
