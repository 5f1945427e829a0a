// The progress of loading and training on stderr: one line redrawn in place on a terminal, now and then a line
// elsewhere.
#pragma once

#include <string>

#include "base/clock.h"
#include "run/metered_run.h"
#include "task/train.h"

namespace evener::cli {

/// Lines on stderr, of which the last may be redrawn.
class ProgressLine : public run::RunObserver {
 public:
  /// `quiet`: nothing at all.
  explicit ProgressLine(bool quiet);

  bool on_terminal() const { return terminal_; }
  /// A line that stays. What a terminal would obey is taken out: file names may be in it.
  void note(const std::string& text);
  /// How far the work is: redrawn in place on a terminal, a line that stays elsewhere.
  void show(const std::string& text);
  /// Ends a line that is being redrawn, so that what is printed next starts a new one.
  void finish();

  void on_note(const std::string& text) override { note(text); }
  void on_failure() override { finish(); }

 private:
  const bool quiet_, terminal_;
  bool line_open_ = false;
};

/// How far work on many images is. Where it can't be redrawn, work of less than two seconds is not talked about.
class LoadingProgress {
 public:
  /// `unit`: what is counted, for its speed.
  explicit LoadingProgress(ProgressLine& line, const char* unit = "img") : line_(line), unit_(unit) {}
  /// `what`: "reading images". Another text begins another work.
  void update(const char* what, std::size_t done, std::size_t images);

 private:
  ProgressLine& line_;
  const char* const unit_;
  const char* what_ = nullptr;
  double begin_s_ = 0, last_shown_s_ = 0;
};

class TrainProgress {
 public:
  /// `epochs`: of the whole run, for the time left. `quiet`: nothing at all.
  TrainProgress(int epochs, bool quiet);

  void loading(task::LoadingStep step, std::size_t done, std::size_t images);
  void setup(const task::TrainSetup& setup);
  void step(const task::StepProgress& progress);
  void epoch(const task::EpochResult& epoch, std::size_t train_images);
  void note(const std::string& text) { line_.note(text); }
  void finish() { line_.finish(); }
  ProgressLine& line() { return line_; }

 private:
  std::string text_of(const task::StepProgress& progress) const;
  double seconds_left(const task::StepProgress& progress) const;

  const int epochs_;
  ProgressLine line_;
  LoadingProgress loading_{line_};
  double last_shown_s_ = -1e9;
  double overhead_s_ = 0;  // of an epoch beside its training: validation and checkpoint
  double epoch_end_s_ = 0;
};

/// Of a time that is an estimate: "less than 1 s", "42 s", "4 min 05 s".
std::string time_left_text(double seconds);

/// "resnet34, 9 classes, 1x148x197: 1530 images to train on, 36 to validate, 234 to test".
std::string setup_text(const task::TrainSetup& setup);

}  // namespace evener::cli
