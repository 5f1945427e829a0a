// A training that has to be over by some time: when steps have to end so that validation and test end by then.
#pragma once

#include <cstdint>

#include "task/checkpoint.h"
#include "task/train.h"

namespace evener::task {

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
