// Data-parallel training as rank 0 leads it: divides batches, keeps the group together, adds up what came out. A group
// of one is the same code.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "parallel/membership.h"
#include "parallel/replica.h"
#include "parallel/shares.h"

namespace evener::parallel {

class DataParallel {
 public:
  /// `batch`: samples of all replicas together. `may_leave`: replicas that don't help may be left out.
  DataParallel(Replica& replica, Shares shares, std::int64_t batch, bool may_leave);

  /// Begins to serve `epoch` of `samples` samples, from step `first_step` on.
  void start_epoch(std::int64_t epoch, std::int64_t samples, std::int64_t first_step);
  /// The next step of the epoch.
  const StepResult& step(double learning_rate);
  /// Waits for the results of steps that are not known yet: what step() would have said of them.
  const StepResult& settle();

  /// Evaluates one part (an index of ReplicaOptions::evaluation_parts) of `samples` samples; nothing when `stop` said
  /// so.
  std::optional<EvaluationResult> evaluate(std::int64_t part, std::int64_t samples, const std::function<bool()>& stop);

  /// Parameters and buffers of the whole network, and the optimiser's values of all its parameters.
  TensorMap state() { return gathered(false); }
  TensorMap optimizer_state() { return gathered(true); }
  /// Gives all replicas these parameters and buffers.
  void load_state(const TensorMap& state);

  /// Rank 0's weights (and buffers) to all. Training ends an epoch with it, before the evaluation.
  void share_state() { command(Command::Kind::kShareState); }
  void swap_average() { command(Command::Kind::kSwapAverage); }
  /// What the device of each replica was put to.
  const std::vector<engine::DeviceReport>& reports() {
    command(Command::Kind::kReport);
    return replica_.reports();
  }
  /// What each rank did in its stage, after reports(); empty where replicas have one stage.
  const std::vector<StageWork>& stage_work() const { return replica_.stage_work(); }
  /// The other ranks end.
  void finish() { command(Command::Kind::kFinish); }

  /// Samples that each replica computed in training, and in how many seconds of its own.
  const std::vector<std::int64_t>& trained() const { return trained_; }
  const std::vector<double>& busy_s() const { return busy_s_; }
  /// Divisions of the batch that were used for at least one step, with the step (from 0 over the whole run) that began
  /// with each.
  struct Change {
    std::int64_t step = 0;
    std::vector<std::int64_t> counts;
  };
  const std::vector<Change>& changes() const { return changes_; }
  /// Why replicas left, came back or stayed, since the last call.
  std::vector<std::string> take_notes();

 private:
  void command(Command::Kind kind);
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
  const std::int64_t at_once_;                     // samples that are evaluated at once: as many as in training
  bool training_ = false;                          // what is being served is trained on, not evaluated
  std::int64_t epoch_ = 0, samples_ = 0;           // of what is being served
  std::int64_t next_division_ = 0;                 // sample at which it begins
  std::deque<std::vector<std::int64_t>> divided_;  // batches divided and not yet taken
  std::vector<bool> members_;                      // as the ranks were told
  std::int64_t steps_ = 0, epoch_step_ = 0;
  std::vector<std::int64_t> trained_;
  std::vector<double> busy_s_;
  std::vector<Change> changes_;
  std::vector<std::string> notes_;
};

}  // namespace evener::parallel
