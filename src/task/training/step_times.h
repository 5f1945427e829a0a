// What each step of a training took, where a device tells of steps some calls after it was given them; and when steps
// have to end where the training has to be over by some time.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "task/training/checkpoint.h"
#include "task/training/train.h"

namespace evener::task {

/// The seconds of stepping and waiting until a step's results became known are that step's: the calls that only hand
/// steps over return at once, and say nothing of what the steps take. Two stretches are longer or shorter than that:
/// the first results come when several steps were handed over, and for the last ones nothing is handed over any more.
/// What the one has too much is what the other lacks, so these steps share the time of both.
class StepTimes {
 public:
  struct Step {
    std::int64_t images = 0;
    double seconds = 0;
    std::int64_t number = 0;  // from 0 on; of steps that share their time, that of the first
  };

  /// A step of so many images was given to the device.
  void give(std::int64_t images) { given_.push_back({images, 0, next_++}); }
  /// For so many seconds the training stepped or waited, after which the results of `steps` more steps were known.
  /// Those of these whose time is known, the oldest first.
  std::vector<Step> pass(double seconds, std::int64_t steps);

 private:
  void share_time(std::vector<Step>& steps);

  std::deque<Step> given_;             // that are not known yet
  std::vector<Step> filling_;          // the first that became known while others were under way
  double filling_s_ = 0, open_s_ = 0;  // until these were known; since the last ones became known
  std::int64_t next_ = 0;
  bool is_idle_ = true;  // nothing was under way before the steps in given_
};

/// Says when steps have to end so that validation and test end in time.
class TimeLimit {
 public:
  /// `end_by_s`: in now_s(); 0 = there is no limit. `batch`: images of a step.
  TimeLimit(double end_by_s, const TrainSetup& setup, std::int64_t batch);

  /// For so many seconds the training stepped or waited, after which the results of `steps` more steps were known.
  void stepped_in(double seconds, std::int64_t steps);
  void judged_in(double seconds) { validate_s_ = seconds; }

  /// Whether no more than validating and testing fits into the time that is left.
  bool is_over() const;
  /// Whether an epoch like the last one of `progress` would end too late, where there are to be `epochs`.
  bool leaves_none_for_more(const Progress& progress, int epochs) const;

 private:
  double judging_s() const;

  const double end_by_s_, val_images_, test_images_, batch_;
  double train_s_ = 0, validate_s_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace evener::task
