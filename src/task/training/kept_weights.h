// The best weights of a run, and its checkpoints. Inside task/ only.
#pragma once

#include "base/clock.h"
#include "parallel/data_parallel.h"
#include "task/training/job.h"

namespace evener::task {

/// Keeps the best weights of a training so far, and writes the checkpoints into its folder.
class KeptWeights {
 public:
  KeptWeights(PreparedTraining::State& job, parallel::DataParallel& replicas)
      : job_(job), replicas_(replicas), is_manifest_saved_(job.options.resume) {}

  /// Takes the replicas' weights of this moment as the best so far.
  void take_best();
  TensorMap best() const;

  /// Writes a checkpoint. At the end of a run without any validation the last weights count as the best, or with
  /// `averaged` their moving average. Returns false and keeps the previous checkpoint where the weights are not finite,
  /// which an epoch without validation doesn't notice.
  bool save(bool averaged);
  /// Writes the best weights alone, unless the folder has them already.
  void save_best();

  /// Whether a checkpoint at the end of an epoch would take too little of the run's time to be left out.
  bool is_cheap() const;
  /// Whether the last checkpoint is so old that one should be written in the middle of an epoch.
  bool is_due() const;
  /// What writing has taken so far.
  double seconds() const { return seconds_; }

 private:
  /// Writes the split manifest, before the first weights: so no weights lie in the folder without the list of the
  /// images that they were trained on.
  void keep_manifest();

  PreparedTraining::State& job_;
  parallel::DataParallel& replicas_;
  TensorMap best_;  // empty: they are in best.safetensors
  bool best_saved_ = true;
  bool is_manifest_saved_;  // a resumed run has its manifest from its first session
  double seconds_ = 0, last_save_s_ = 0;
  Stopwatch since_save_;
};

}  // namespace evener::task
