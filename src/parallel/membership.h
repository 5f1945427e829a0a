// Whether each replica helps more than it costs, found out by trying.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace evener::parallel {

/// Compares the speed of steps with a replica and without it, one replica at a time. One that brings nothing stays out
/// and is tried again after pauses that double, and that are so long that its trials take a hundredth of the time. Rank
/// 0, which leads, always stays.
class Membership {
 public:
  /// `speeds`: a first guess for each replica. One that promises next to nothing stays out at first.
  explicit Membership(const std::vector<double>& speeds);

  const std::vector<bool>& active() const { return active_; }

  /// After a step on `samples` in `seconds` (of the whole step, waiting included). `speeds`: of each replica.
  void observe(std::int64_t samples, double seconds, const std::vector<double>& speeds);

  /// Why active() is what it is, for the record: "replica 1 left: ...". Empty as long as all take part.
  const std::string& reason() const { return reason_; }

 private:
  enum class State { kWatch, kTrialWithout, kTrialWith };
  struct Trials {
    std::int64_t next = 0;  // not before this step
    std::int64_t pause;     // steps, the next time
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
  int settling_;            // steps that are not counted yet
  int hopeless_steps_ = 0;  // in a row
  int tried_ = 0;           // the replica that a trial is about
  std::int64_t steps_ = 0;
  double rate_with_ = 0, rate_without_ = 0;  // samples/s
  double lost_steps_ = 0;                    // that would have fitted into the time that the trial took longer
  std::vector<double> rates_;                // samples/s of the steps of this state
  std::string reason_;
};

}  // namespace evener::parallel
