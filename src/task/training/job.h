// What all ranks of a run start from. Inside task/ only.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "parallel/data_parallel.h"
#include "parallel/launcher.h"
#include "parallel/replica.h"
#include "task/training/checkpoint.h"
#include "task/training/limits.h"
#include "task/training/train.h"
#include "task/training/training_memory.h"
#include "task/training/trial.h"

namespace evener::task {

struct PreparedTraining::State {
  State(TrainOptions chosen, TrainObserver& told);

  /// The trainer's options for the replica of `rank`, with the normalisation filled in.
  parallel::ReplicaOptions replica_options(int rank) const {
    return replica_options(options.plan, setup.division, rank);
  }
  parallel::ReplicaOptions replica_options(const placement::Plan& plan, const Division& division, int rank) const;
  /// What a rank computes: the network, or its stage of it.
  const network::Network& network_of(int rank) const { return network_of(setup.division, rank); }
  const network::Network& network_of(const Division& division, int rank) const;
  /// See TrainJob::shared_bytes.
  std::size_t shared_bytes(const placement::Plan& plan) const;
  bool could_exchange_on_devices(const placement::Plan& plan) const;
  bool exchanges_on_devices(const placement::Plan& plan) const;
  /// Gives the trainer of a rank the state with which all ranks begin.
  void give_first_state(engine::Trainer& trainer, const parallel::RankContext& context);
  /// See limits.h.
  std::int64_t least_share() const { return task::least_share(setup.network, options.local_batch_norm); }

  /// Whether the validation accuracy that ends the training is reached, and whether it has not become better for too
  /// long.
  bool has_reached_accuracy() const;
  bool has_lost_patience() const;

  /// Reads the checkpoint in `out`. Images are normalised as they were in the run so far, so the file of weights that
  /// it started from need not be there any more.
  void resume(Checkpoint checkpoint);
  void take_batch(std::int64_t batch);
  /// Nothing is open any more: checks the whole, and tells the observer what it is.
  void settle(const Trials& trials);

  TrainOptions options;  // with what was decided
  TrainObserver& observer;
  Stopwatch clock;
  double load_s = 0, init_s = 0;
  data::OpenedData data;
  TrainSetup setup;
  std::unique_ptr<engine::Engine> engine;
  TensorMap state, optimizer_state;  // that the trainers begin with; no optimiser state: its own start
  WeightsInfo info;
  nlohmann::json config;
  Progress progress;
  double end_by_s = 0;  // see TrainJob::end_by; 0 = no matter when

 private:
  data::OpenedData open();
  data::Progress loading_progress(LoadingStep step);
  TrainSetup describe();
  /// `before`: the engine of the run that is gone on with; "" = a new run.
  void open_engine(const std::string& before);
  void prepare();
  void divide_layers(const Trials& trials);
  void require_possible_training() const;
  /// `images`: that there are at most.
  void require_memory_for(const network::Network& network, const TrainingWork& work) const;
  /// That prepare the batches of a rank.
  int loader_threads(const placement::Plan& plan, int rank) const;
  void require_possible_batch() const;
  std::int64_t steps_per_epoch() const;
  /// Tells what memory the training takes where that is much, and always where it is only looked at.
  void tell_memory() const;
};

/// Rank 0's part of a training, from the first step, or from where the progress stands, to the test.
TrainResult lead_training(PreparedTraining::State& job, parallel::DataParallel& replicas, engine::Trainer& trainer);

}  // namespace evener::task
