// The best weights of a run, and its checkpoints. Inside task/ only.
#pragma once

#include "base/clock.h"
#include "parallel/data_parallel.h"
#include "task/training/job.h"

namespace evener::task {

/// What a training under way keeps: the weights that were best so far, and in its folder checkpoints of everything.
class KeptWeights {
 public:
  KeptWeights(PreparedTraining::State& job, parallel::DataParallel& replicas)
      : job_(job), replicas_(replicas), is_manifest_saved_(job.options.resume) {}

  /// The replicas' weights, as they are now, are the best so far.
  void take_best();
  TensorMap best() const;

  /// Writes a checkpoint. After the last epoch of a run that validated none, its last weights count as the best;
  /// `averaged`: then their average. False where the weights are not finite, which an epoch without validation doesn't
  /// notice: the previous checkpoint stays.
  bool save(bool averaged);
  /// Writes the best weights alone, unless the folder has them already.
  void save_best();

  /// Whether a checkpoint at the end of an epoch would take too little of the run's time to be left out.
  bool is_cheap() const;
  /// Whether one is due within an epoch.
  bool is_due() const;
  /// That writing has taken.
  double seconds() const { return seconds_; }

 private:
  /// Before the first weights: whoever finds weights finds the list of their images.
  void keep_manifest();

  PreparedTraining::State& job_;
  parallel::DataParallel& replicas_;
  TensorMap best_;  // empty: what the folder has
  bool best_saved_ = true;
  bool is_manifest_saved_;  // what a resumed run has was saved when it began
  double seconds_ = 0, last_save_s_ = 0;
  Stopwatch since_save_;
};

}  // namespace evener::task
