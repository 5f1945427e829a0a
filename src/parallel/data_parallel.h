// Data-parallel training: how its batches are divided at the start, and which replicas take part.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parallel/replica.h"
#include "parallel/shares.h"
#include "placement/plan.h"

namespace evener::parallel {

/// Finds out by trials which replicas make training faster, since a slow one may cost more in waiting than it
/// contributes.
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

/// Data-parallel training as rank 0 leads it: it divides batches among the replicas, sends them commands and collects
/// results. A run with a single replica takes the same path.
class DataParallel {
 public:
  /// `batch`: samples of all replicas together. `may_leave`: replicas that slow the group down may be left out; has an
  /// effect only with measured shares.
  DataParallel(Replica& replica, Shares shares, std::int64_t batch, bool may_leave);

  /// Starts epoch number `epoch`, which has `samples` samples, at step `first_step` (above 0 after a resume).
  void start_epoch(std::int64_t epoch, std::int64_t samples, std::int64_t first_step);
  /// Does the next training step of the epoch on all replicas.
  const StepResult& step(double learning_rate);
  /// Waits for the results of steps that step() has not reported yet, since a device may run ahead of its results, and
  /// returns these.
  const StepResult& settle();

  /// Evaluates one part of the data (an index of ReplicaOptions::evaluation_parts), which has `samples` samples. Asks
  /// `stop` before each batch and returns nothing once that is true.
  std::optional<EvaluationResult> evaluate(std::int64_t part, std::int64_t samples, const std::function<bool()>& stop);

  /// state(): parameters and buffers of the whole network, of all stages. optimizer_state(): the optimiser's state for
  /// all parameters.
  TensorMap state() { return gathered(false); }
  TensorMap optimizer_state() { return gathered(true); }
  /// Gives all replicas these parameters and buffers.
  void load_state(const TensorMap& state);

  /// Broadcasts rank 0's parameters and buffers. Called at the end of each epoch, so that all replicas evaluate the
  /// same network.
  void share_state() { command(Command::Kind::kShareState); }
  void swap_average() { command(Command::Kind::kSwapAverage); }
  /// Gathers the device reports of all ranks, by rank.
  const std::vector<engine::DeviceReport>& reports() {
    command(Command::Kind::kReport);
    return replica_.reports();
  }
  /// Times and memory of each rank's pipeline stage, as of the last reports(); empty where replicas have a single
  /// stage.
  const std::vector<StageWork>& stage_work() const { return replica_.stage_work(); }
  /// Ends serve() on the other ranks.
  void finish() { command(Command::Kind::kFinish); }

  /// Samples that each replica trained on, and the seconds it was busy with them, without waiting for others.
  const std::vector<std::int64_t>& trained() const { return trained_; }
  const std::vector<double>& busy_s() const { return busy_s_; }
  /// How batches were divided from `step` on (counted from 0 over the whole run). Only divisions that some step used
  /// are kept.
  struct Change {
    std::int64_t step = 0;
    std::vector<std::int64_t> counts;
  };
  const std::vector<Change>& changes() const { return changes_; }
  /// Returns and clears the notes about replicas that left, came back or stayed.
  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

 private:
  void command(Command::Kind kind) { replica_.lead({.kind = kind}); }
  TensorMap gathered(bool of_optimizer);
  /// Puts the division of the next batch that isn't divided yet into `command`, if there is one.
  void divide_next(Command& command);
  void start(Command command, std::int64_t samples, std::int64_t first_batch);
  void set_members();
  void observe(const std::vector<std::int64_t>& counts, double step_s);

  Replica& replica_;
  Shares shares_;
  const bool may_leave_;
  Membership membership_;
  const std::int64_t batch_;
  const std::int64_t at_once_;                     // samples of an evaluation's batch: those of a micro-batch
  bool training_ = false;                          // the present data are trained on, not evaluated
  std::int64_t epoch_ = 0, samples_ = 0;           // the present epoch, and the samples of the present data
  std::int64_t next_division_ = 0;                 // sample at which the next batch to be divided begins
  std::deque<std::vector<std::int64_t>> divided_;  // batches divided but not computed yet
  std::vector<bool> members_;                      // replicas that take part, as last sent to the ranks
  std::int64_t steps_ = 0, epoch_step_ = 0;
  std::vector<std::int64_t> trained_;
  std::vector<double> busy_s_;
  std::vector<Change> changes_;
  std::vector<std::string> notes_;
};

/// Weights for fixed shares, from speeds that were measured once. Speeds that differ by less than a tenth give equal
/// weights: devices of one kind differ by that much through noise alone.
std::vector<double> steady_weights(std::vector<double> speeds);

/// The shares that `plan` gives its replicas. If it leaves any share open, all replicas train for a moment, exchange
/// their speeds and begin with shares in proportion to them. Where devices exchange gradients themselves, these shares
/// stay fixed. A replica gets at least `least` samples of a batch, or none. A collective: every rank calls it with its
/// own replica.
Shares first_shares(const placement::Plan& plan, Replica& replica, std::int64_t least);

}  // namespace evener::parallel
