// What the stages of a plan will take, from what the layers take. Pure arithmetic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parallel/pipeline_schedule.h"
#include "placement/plan.h"
#include "task/training/train.h"

namespace evener::task {

/// What passing a micro-batch takes on each stage, by replica.
struct StageForecast {
  std::vector<std::vector<parallel::StageTimes>> replicas;
  std::vector<double> update_s;  // of the weights, by replica
  int micro_batches = 1;         // that each replica's share of a batch passes in
  parallel::PipelineSchedule schedule = parallel::PipelineSchedule::k1F1B;
  std::vector<std::int64_t> memory_bytes = {};  // that each stage of a replica takes, predicted

  /// Seconds of a step of `replica` in which so many micro-batches pass.
  double seconds(std::size_t replica, int micro_batches) const;
  /// The share of the stages' time that they wait in a step, over all replicas.
  double bubble() const;
};

/// What the update of the weights takes on the stage that it takes longest on. Estimated from the bytes that it moves.
double update_seconds(std::span<const network::NetworkStage> stages, const placement::PlanReplica& replica);

/// What each stage of `replica` takes for a micro-batch of so many images. `layers`: on each stage's device, at full
/// speed, of all layers of `network`, by index, for as many images.
std::vector<parallel::StageTimes> stage_times(const network::Network& network,
                                              std::span<const network::NetworkStage> stages,
                                              std::span<const std::vector<parallel::StageTimes>> layers,
                                              std::int64_t images, const placement::PlanReplica& replica);

}  // namespace evener::task
