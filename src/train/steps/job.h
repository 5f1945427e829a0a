// What all ranks of a run start from, with the engine that is chosen where the user names none. Inside task/ only.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/simd_level.h"
#include "engine/engine.h"
#include "network/network.h"
#include "parallel/data_parallel.h"
#include "parallel/launcher.h"
#include "parallel/replica.h"
#include "placement/plan.h"
#include "train/steps/checkpoint.h"
#include "train/steps/limits.h"
#include "train/steps/train.h"
#include "train/steps/training_memory.h"
#include "train/steps/trial.h"

namespace evener::training {

/// What is to be trained, and where.
struct EngineQuestion {
  const network::Network& network;
  const engine::TrainerOptions& trainer;      // with the device of the first replica
  std::vector<const placement::Plan*> plans;  // the plans of which one will be run
  std::string before;                         // the engine of the run that is resumed; "" = a new run
};

struct EngineChoice {
  std::string name;    // "native" or "torch"
  std::string reason;  // in a few words; "" = nothing to say
};

/// Chooses the native engine for OpenCL and for naive kernels, which torch does not have, and on CPUs where it is
/// faster and can do everything that is asked for on every replica of every plan; otherwise torch. A resumed run keeps
/// its engine, so that it learns what it would have learnt without a break, unless that engine can't do what is asked
/// for now. `native`: null where its module can't be used. `level`: the SIMD level of this processor.
EngineChoice choose_engine(const EngineQuestion& question, const engine::Engine* native, SimdLevel level);

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
  std::int64_t least_share() const { return training::least_share(setup.network, options.local_batch_norm); }

  /// Whether the validation accuracy that ends the training is reached, and whether it has not become better for too
  /// long.
  bool has_reached_accuracy() const;
  bool has_lost_patience() const;

  /// Goes on from `checkpoint`. Images are normalised as they were in the run so far, so the weights file that the run
  /// started from need not exist any more.
  void resume(Checkpoint checkpoint);
  /// Called when every option is decided: checks the training as a whole and tells the observer its setup.
  void settle(const Trials& trials);

  TrainOptions options;  // with what was decided
  TrainObserver& observer;
  Stopwatch clock;
  double load_s = 0, init_s = 0;
  data::OpenedData data;
  TrainSetup setup;
  std::unique_ptr<engine::Engine> engine;
  TensorMap state, optimizer_state;  // what the trainers begin with; an empty optimiser state = a fresh one
  inference::ModelFacts info;        // for the files of weights
  nlohmann::json config;
  Progress progress;
  double end_by_s = 0;  // see TrainJob::end_by; 0 = no time limit

  const std::optional<int> asked_loader_threads;
  data::OpenedData open();
  data::Progress loading_progress(LoadingStep step) {
    return [this, step](std::size_t done, std::size_t images) { observer.on_loading(step, done, images); };
  }
  TrainSetup describe();
  /// `before`: the engine of the run that is resumed; "" = a new run.
  void open_engine(const std::string& before);
  void prepare();
  void divide_layers(const Trials& trials);
  /// Throws Error where the CPU's memory doesn't suffice for a training of `network`; GPUs report it themselves.
  void require_memory_for(const network::Network& network, const TrainingWork& work) const;
  /// The number of threads that prepare the batches of `rank`.
  int loader_threads(const placement::Plan& plan, int rank) const {
    return options.loader_threads.value_or(usual_loader_threads(plan, rank));
  }
  void require_possible_batch() const;
  std::int64_t steps_per_epoch() const;
};

/// Rank 0's part of a training: from the first step, or the one at which it is resumed, to the test.
TrainResult lead_training(PreparedTraining::State& job, parallel::DataParallel& replicas, engine::Trainer& trainer);

}  // namespace evener::training
