// Whether the weakest replica helps more than it costs, found out by trying.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace evener::parallel {

/// Compares the speed of steps with the weakest replica and without it. A replica that brings nothing stays out, and is
/// tried again after pauses that double. Rank 0, which leads, always stays.
class Membership {
 public:
  explicit Membership(int ranks);

  const std::vector<bool>& active() const { return active_; }

  /// After a step on `samples` in `seconds` (of the whole step, waiting included). `speeds`: of each replica. True when
  /// active() has changed.
  bool observe(std::int64_t samples, double seconds, const std::vector<double>& speeds);

  /// Why the last change happened, for the record: "replica 1 left: ...".
  const std::string& reason() const { return reason_; }

 private:
  enum class State { kTogether, kTrialWithout, kPause, kTrialWith };

  bool watch_together(const std::vector<double>& speeds);
  bool end_trial_without();
  bool end_trial_with();
  void enter(State state, int settle_steps);
  double median_rate() const;

  std::vector<bool> active_;
  State state_ = State::kTogether;
  int settling_;     // steps that are not counted yet
  int pause_steps_;  // the next pause's length
  int pause_left_ = 0;
  int weakest_ = -1;  // the replica that is tried
  double rate_with_ = 0, rate_without_ = 0;
  std::vector<double> rates_;  // samples/s of the steps of this state
  std::string reason_;
};

}  // namespace evener::parallel
