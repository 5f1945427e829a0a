// How fast the steps of a training went, in a bounded number of samples however long it was; how long each step took,
// where a device reports the results of a step some calls after it was given the step; and when a training with a time
// limit has to stop stepping.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace evener::training {

struct Progress;
struct TrainSetup;

/// Joins consecutive steps into blocks of the same number of steps. In a long training a block is longer than most
/// bursts of slow steps, so that neighbouring blocks are less correlated than neighbouring steps.
class StepBlocks {
 public:
  void add(std::int64_t images, double seconds);

  /// 1, 2, 4, ...: doubled so that there are never more than 40 blocks, and at least 20 after the first 20 steps.
  std::int64_t steps_per_block() const { return steps_per_block_; }
  /// images/s of each block, without the last one if it isn't complete.
  std::vector<double> rates() const;

 private:
  struct Block {
    double images = 0, seconds = 0;
  };
  void join_pairs();

  std::vector<Block> blocks_;  // complete ones
  Block open_;
  std::int64_t steps_per_block_ = 1, open_steps_ = 0;
};

/// Attributes to each step the seconds from the results of the step before it to its own. The calls that hand steps to
/// the device return at once, so their duration says nothing. Two stretches need care: the first results come only
/// after several steps were handed over, which is too long, and the last ones follow quickly, since nothing is handed
/// over any more, which is too short. The excess of the one is what the other lacks, so these steps share the time of
/// both.
class StepTimes {
 public:
  struct Step {
    std::int64_t images = 0;
    double seconds = 0;
    std::int64_t number = 0;  // from 0; steps that share their time all have the number of the first
  };

  /// Tells that a step of `images` images was given to the device.
  void give(std::int64_t images) { given_.push_back({images, 0, next_++}); }
  /// Tells that the training stepped or waited for `seconds`, after which the results of `steps` more steps were known.
  /// Returns the steps whose time is now known, the oldest first.
  std::vector<Step> pass(double seconds, std::int64_t steps);

 private:
  void share_time(std::vector<Step>& steps);

  std::deque<Step> given_;             // that are not known yet
  std::vector<Step> filling_;          // the first steps whose results came while others were under way
  double filling_s_ = 0, open_s_ = 0;  // until the results of filling_ were known; since the last results
  std::int64_t next_ = 0;
  bool is_idle_ = true;  // nothing was under way before the steps in given_
};

/// Says when training has to stop so that validation and test still end in time.
class TimeLimit {
 public:
  /// `end_by_s`: on the clock of now_s(); 0 = no limit. `batch`: images of a step.
  TimeLimit(double end_by_s, const TrainSetup& setup, std::int64_t batch);

  /// Tells that the training stepped or waited for `seconds`, after which the results of `steps` more steps were known.
  void stepped_in(double seconds, std::int64_t steps);
  void judged_in(double seconds) { validate_s_ = seconds; }

  /// Whether training has to stop now, as validation and test need all the time that is left.
  bool is_over() const;
  /// Whether an epoch like the last one of `progress` would end too late, where there are to be `epochs`.
  bool leaves_none_for_more(const Progress& progress, int epochs) const;

 private:
  double judging_s() const;

  const double end_by_s_, val_images_, test_images_, batch_;
  double train_s_ = 0, validate_s_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace evener::training
