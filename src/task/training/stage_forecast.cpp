#include "task/training/stage_forecast.h"

#include <algorithm>

#include "base/tensor.h"
#include "network/cost.h"
#include "task/training/stages.h"

namespace evener::task {
namespace {

double numbers_of_layers(const network::Network& network, const std::vector<int>& layers) {
  double numbers = 0;
  for (const int layer : layers) {
    numbers += static_cast<double>(element_count(network.layers()[static_cast<std::size_t>(layer)].shape));
  }
  return numbers;
}

}  // namespace

double StageForecast::seconds(std::size_t replica, int passed) const {
  return simulate_step(schedule, replicas[replica], passed).seconds + update_s[replica];
}

double StageForecast::bubble() const {
  double busy_s = 0, all_s = 0;
  for (const auto& stages : replicas) {
    const parallel::SimulatedStep step = simulate_step(schedule, stages, micro_batches);
    busy_s += (1 - step.bubble) * step.seconds;
    all_s += step.seconds;
  }
  return all_s > 0 ? 1 - busy_s / all_s : 0;
}

double update_seconds(std::span<const network::NetworkStage> stages, const placement::PlanReplica& replica) {
  constexpr double kBytesPerParameter = 5 * sizeof(float);  // weight and momentum are read and written, gradients read
  double longest_s = 0;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const auto parameters = static_cast<double>(network::total_cost(stages[s].network).parameters);
    const placement::PlanStage& stage = replica.stages[s];
    const double speed = stage.factor * (stage.device.kind == DeviceKind::kCpu ? 1 : kThreadsOfAccelerator);
    longest_s = std::max(longest_s, parameters * kBytesPerParameter / kCopied_bytes_per_s / speed);
  }
  return longest_s;
}

std::vector<parallel::StageTimes> stage_times(const network::Network& network,
                                              std::span<const network::NetworkStage> stages,
                                              std::span<const std::vector<parallel::StageTimes>> layers,
                                              std::int64_t images, const placement::PlanReplica& replica) {
  const double of_number = crossing_seconds(images);
  std::vector<parallel::StageTimes> times;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const network::NetworkStage& stage = stages[s];
    const double crossing_s =
        of_number * (numbers_of_layers(network, stage.received) + numbers_of_layers(network, stage.sent));
    parallel::StageTimes sum{crossing_s / 2, crossing_s / 2};  // values forward, gradients backward
    for (int layer = stage.first; layer <= stage.last; ++layer) {
      sum.forward_s += layers[s][static_cast<std::size_t>(layer)].forward_s;
      sum.backward_s += layers[s][static_cast<std::size_t>(layer)].backward_s;
    }
    const double speed = replica.stages[s].factor;
    times.push_back({sum.forward_s / speed, sum.backward_s / speed});
  }
  return times;
}

}  // namespace evener::task
