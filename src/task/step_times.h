// What each step of a training took, where a device tells of steps some calls after it was given them.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace evener::task {

/// The seconds of stepping and waiting until a step's results became known are that step's: the calls that only hand
/// steps over return at once, and say nothing of what the steps take.
class StepTimes {
 public:
  struct Step {
    std::int64_t images = 0;
    double seconds = 0;
  };

  /// A step of so many images was given to the device.
  void give(std::int64_t images) { given_.push_back(images); }
  /// For so many seconds the training stepped or waited, after which the results of `steps` more steps were known.
  /// These steps, the oldest first: they share the time since others became known in proportion to their images.
  std::vector<Step> pass(double seconds, std::int64_t steps);

 private:
  std::deque<std::int64_t> given_;  // images of the steps that are not known yet
  double open_s_ = 0;               // since the last ones became known
};

}  // namespace evener::task
