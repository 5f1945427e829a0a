// Finds out by trials which replicas make training faster, since a slow one may cost more in waiting than it
// contributes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace evener::parallel {

/// Compares the speed of steps with and without one replica at a time. A replica that doesn't help stays out and is
/// tried again later. The pauses between trials double, and are long enough for failed trials to cost about one percent
/// of the time. Rank 0 leads and always stays.
class Membership {
 public:
  /// `speeds`: a first guess for each replica. A replica that reaches at most 2 % of the fastest one's speed stays out
  /// at first.
  explicit Membership(const std::vector<double>& speeds);

  const std::vector<bool>& active() const { return active_; }

  /// Takes in a step on `samples` samples that lasted `seconds`, waiting included. `speeds`: the replicas' present
  /// speeds in samples per second.
  void observe(std::int64_t samples, double seconds, const std::vector<double>& speeds);

  /// The last decision with its reason, for the record: "replica 1 left, ...". Empty before the first trial.
  const std::string& reason() const { return reason_; }

 private:
  enum class State { kWatch, kTrialWithout, kTrialWith };
  struct Trials {
    std::int64_t next = 0;  // the earliest step of its next trial
    std::int64_t pause;     // steps to wait after that trial, at least
  };

  void watch(const std::vector<double>& speeds);
  bool start_trial_with();
  void start_trial_without(int weakest);
  void end_trial();
  void enter(State state, int settle_steps);
  int weakest(const std::vector<double>& speeds) const;
  double sum_without(const std::vector<double>& speeds, int left_out) const;

  std::vector<bool> active_;
  std::vector<Trials> trials_;
  State state_ = State::kWatch;
  int settling_;            // steps still to be ignored
  int hopeless_steps_ = 0;  // in a row
  int tried_ = 0;           // the replica on trial
  std::int64_t steps_ = 0;
  double rate_with_ = 0, rate_without_ = 0;  // samples/s
  double lost_steps_ = 0;                    // steps that the trial has cost by being slower
  std::vector<double> rates_;                // samples/s of the steps counted in this state
  std::string reason_;
};

}  // namespace evener::parallel
