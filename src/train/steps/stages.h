// How a run's network is divided over the stages of its plan, how much memory each stage takes, and how long.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "infer/run/infer_stages.h"
#include "network/passes/cut.h"
#include "parallel/pipeline_schedule.h"
#include "parallel/replica.h"
#include "placement/plan.h"
#include "train/steps/train.h"

namespace evener::training {

/// Throws UsageError for options that a plan with several stages doesn't support.
void require_possible_stages(const TrainOptions& options, const TrainSetup& setup);

/// The stages that --cut names; otherwise the division whose slowest stage is the fastest, among those that fit where
/// --memory limits a stage.
std::vector<network::NetworkStage> divided_layers(const TrainOptions& options, const network::Network& network,
                                                  network::StageCosts costs);

/// The number of micro-batches into which a replica's share of a batch is divided: as many as were asked for; one where
/// batch-norm takes the statistics of the whole batch; else a few for each stage.
int micro_batch_count(const TrainOptions& options, const network::Network& network);

/// The images of one micro-batch, but at least two, which every batch-norm can take.
std::int64_t images_of_micro_batch(const TrainOptions& options, int micro_batches);

/// The most images that a replica computes at once where its share of a batch is divided into `parts`.
std::int64_t images_at_once(const TrainOptions& options, int parts);

/// Sentences on the division, for users and the record.
std::vector<std::string> stage_notes(const TrainOptions& options, const TrainSetup& setup);

/// Fills in the options of the rank that computes `stage` of a replica of `plan`.
void fill_stage(const TrainOptions& options, const placement::Plan& plan, const network::Network& network,
                const Division& division, int stage, parallel::ReplicaOptions& replica);

/// The device memory that a stage of a training takes, by estimate.
struct StageMemory {
  std::int64_t fixed_bytes = 0;        // weights, the optimiser's values, statistics
  std::int64_t computed_bytes = 0;     // gradients, at the moment of a pass where it takes most
  std::int64_t reordered_bytes = 0;    // weights in another order too, on a CPU that computes micro-batches
  std::int64_t micro_batch_bytes = 0;  // activations of one micro-batch
  int kept = 1;                        // the most micro-batches that are forward and not yet backward at once

  std::int64_t bytes() const { return fixed_bytes + computed_bytes + reordered_bytes + kept * micro_batch_bytes; }
};

/// The memory of the layers `part` as stage number `stage` of `stages`, where a batch is divided into `micro_batches`.
StageMemory memory_of_stage(const TrainOptions& options, const network::Network& part, int stage, int stages,
                            int micro_batches);

/// The memory of each stage of a replica, as `division` divides `network`; a single one where it is not divided.
std::vector<StageMemory> stage_memory(const TrainOptions& options, const network::Network& network,
                                      const Division& division);

/// Throws UsageError where a stage takes more than --memory allows, naming how many stages would fit.
void require_stage_memory(const TrainOptions& options, const network::Network& network, const Division& division);

/// The time of a micro-batch on each stage, by replica.
struct StageForecast {
  std::vector<std::vector<parallel::StageTimes>> replicas;
  std::vector<double> update_s;  // of the update of the weights, by replica
  int micro_batches = 1;         // into which each replica's share of a batch is divided
  parallel::PipelineSchedule schedule = parallel::PipelineSchedule::k1F1B;
  std::vector<std::int64_t> memory_bytes = {};  // predicted, of each stage of a replica

  /// Seconds of a step of `replica` with `micro_batches` micro-batches, the update of the weights included.
  double seconds(std::size_t replica, int micro_batches) const;
  /// The pipeline bubble: the share of a step in which stages wait, over all replicas.
  double bubble() const;
};

/// Seconds of the weight update on the stage where it takes longest, estimated from the bytes that it moves.
double update_seconds(std::span<const network::NetworkStage> stages, const placement::PlanReplica& replica);

/// Seconds that each stage of `replica` takes for a micro-batch of `images` images, the transfer of values between
/// stages included. `layers`: [stage][layer of `network`], measured for as many images on the stage's device at full
/// speed.
std::vector<parallel::StageTimes> stage_times(const network::Network& network,
                                              std::span<const network::NetworkStage> stages,
                                              std::span<const std::vector<parallel::StageTimes>> layers,
                                              std::int64_t images, const placement::PlanReplica& replica);

}  // namespace evener::training
