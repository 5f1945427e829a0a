// Shows the progress of a training on stderr: what begins, its steps, and a line for each epoch.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "measure/run/progress.h"
#include "options/progress_line.h"
#include "train/training.h"

namespace evener::training {

class TrainProgress : public TrainWatcher {
 public:
  /// `epochs`: of the whole run, for the time left. `quiet`: nothing at all.
  TrainProgress(int epochs, bool quiet);

  void loading(LoadingStep step, std::size_t done, std::size_t images) override;
  void setup(const TrainSetup& setup) override;
  void step(const StepProgress& progress) override;
  void epoch(const record::EpochRecord& epoch) override;

  void note(const std::string& text) override { line_.note(text); }
  void show(const std::string& text) override { line_.show(text); }
  void finish() override { line_.finish(); }
  bool redraws() const override { return line_.redraws(); }

 private:
  std::string text_of(const StepProgress& progress) const;
  double seconds_left(const StepProgress& progress) const;

  int epochs_;
  ProgressLine line_;
  measure::LoadingProgress loading_{line_};
  std::optional<measure::RedrawPace> pace_;  // of lines within an epoch; absent before the first step
  double overhead_s_ = 0;                    // time of an epoch beside its training: validation and checkpoint
  double epoch_end_s_ = 0;
  bool names_best_ = true;  // false with few validation images, which can't tell which epoch is the best
};

}  // namespace evener::training
