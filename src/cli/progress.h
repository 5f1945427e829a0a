// The progress of a training on stderr: one line redrawn in place on a terminal, a line per epoch elsewhere.
#pragma once

#include <string>

#include "base/clock.h"
#include "task/train.h"

namespace evener::cli {

class TrainProgress {
 public:
  /// `epochs`: of the whole run, for the time left. `quiet`: nothing at all.
  TrainProgress(int epochs, bool quiet);

  void setup(const task::TrainSetup& setup);
  void step(const task::StepProgress& progress);
  void epoch(const task::EpochResult& epoch, std::size_t train_images);
  void note(const std::string& text);
  /// Ends a line that is being redrawn, so that what is printed next starts a new one.
  void finish();

 private:
  void draw(const std::string& line);
  std::string line(const task::StepProgress& progress) const;
  double seconds_left(const task::StepProgress& progress) const;

  const int epochs_;
  const bool quiet_, terminal_;
  bool line_open_ = false;
  double last_draw_s_ = -1e9;
  double overhead_s_ = 0;  // of an epoch beside its training: validation and checkpoint
  double epoch_end_s_ = 0;
};

/// "resnet34, 9 classes, 1x148x197: 1530 images to train on, 36 to validate, 234 to test".
std::string setup_text(const task::TrainSetup& setup);

}  // namespace evener::cli
