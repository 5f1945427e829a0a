// How long the stages of a plan will take, computed from the times of the layers. Pure arithmetic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parallel/pipeline_schedule.h"
#include "placement/plan.h"
#include "task/training/train.h"

namespace evener::task {

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

}  // namespace evener::task
