#include "task/training/kept_weights.h"

#include <utility>

#include "task/training/checkpoint.h"
#include "task/training/known_parts.h"

namespace evener::task {
namespace {

/// Checkpoints may take this share of the run's time. Those of epochs that would take more are left out.
constexpr double kCheckpointShare = 0.05;
/// Within a long epoch a checkpoint is written after so many seconds.
constexpr double kCheckpointInterval_s = 300;

}  // namespace

void KeptWeights::take_best() {
  best_ = replicas_.state();
  best_saved_ = false;
}

TensorMap KeptWeights::best() const {
  return best_.empty() ? load_best(job_.options.out) : best_;
}

bool KeptWeights::save(bool averaged) {
  const Stopwatch clock;
  TensorMap state = replicas_.state();
  if (!is_finite(state)) return false;
  job_.observer.on_checkpoint();
  const std::filesystem::path& out = job_.options.out;
  const Progress& progress = job_.progress;
  keep_manifest();
  if (!best_saved_) stage_best(out, best_, job_.info, progress.best_epoch);
  if (progress.best_epoch == 0 && progress.epoch == job_.options.epochs) {
    if (averaged) replicas_.swap_average();
    stage_best(out, replicas_.state(), job_.info, progress.epoch);
    if (averaged) replicas_.swap_average();
  }
  save_last(out, {std::move(state), replicas_.optimizer_state()}, job_.info, progress, job_.config);
  publish_best(out);
  best_saved_ = true;
  last_save_s_ = clock.seconds();
  seconds_ += last_save_s_;
  since_save_ = Stopwatch();
  return true;
}

void KeptWeights::keep_manifest() {
  if (!is_manifest_saved_) save_manifest(job_.options, job_.data);
  is_manifest_saved_ = true;
}

void KeptWeights::save_best() {
  if (best_saved_) return;
  const Stopwatch clock;
  keep_manifest();
  task::save_best(job_.options.out, best_, job_.info, job_.progress.best_epoch);
  best_saved_ = true;
  seconds_ += clock.seconds();
}

bool KeptWeights::is_cheap() const {
  return last_save_s_ < kCheckpointShare * since_save_.seconds();
}

bool KeptWeights::is_due() const {
  return since_save_.seconds() > kCheckpointInterval_s;
}

}  // namespace evener::task
