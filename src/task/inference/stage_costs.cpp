#include "task/inference/stage_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "network/cost.h"

namespace evener::task {
namespace {

/// Operations that a processor does in the time in which it reads or writes a byte of memory: what layers without many
/// operations take of a step's time. A guess, where nothing is measured.
constexpr double kOperationsPerByte = 20;
/// A float32 that crosses a cut is read and written on either side, and so is its gradient.
constexpr double kBytesMovedPerNumber = 2 * 2 * sizeof(float);

}  // namespace

network::StageCosts estimated_costs(const network::Network& network, const placement::Plan& plan) {
  const std::vector<network::LayerCost> of_network = network::layer_costs(network);
  network::StageCosts costs;
  costs.of_number = kOperationsPerByte * kBytesMovedPerNumber;
  for (const auto& stage : plan.replicas.front().stages) {
    const double threads = stage.device.kind == DeviceKind::kCpu ? stage.threads : kThreadsOfAccelerator;
    std::vector<double>& layers = costs.of_layers.emplace_back();
    for (const network::LayerCost& cost : of_network) {
      layers.push_back((static_cast<double>(cost.forward_flops + cost.backward_flops) +
                        kOperationsPerByte * static_cast<double>(cost.activation_bytes)) /
                       threads);
    }
    costs.speeds.push_back(stage.factor);
  }
  return costs;
}

network::StageCosts measured_costs(std::vector<std::vector<double>> layer_seconds, const placement::Plan& plan,
                                   std::int64_t images) {
  network::StageCosts costs{std::move(layer_seconds), crossing_seconds(images)};
  for (const auto& stage : plan.replicas.front().stages) costs.speeds.push_back(stage.factor);
  return costs;
}

double crossing_seconds(std::int64_t images) {
  return static_cast<double>(images) * kBytesMovedPerNumber / kCopied_bytes_per_s;
}

std::vector<network::NetworkStage> divided_layers(const placement::Plan& plan, const std::vector<std::string>& cut,
                                                  const network::Network& network, const network::StageCosts& costs) {
  const auto stages = static_cast<std::size_t>(placement::stage_count(plan));
  std::vector<int> begins;
  if (cut.empty()) {
    begins = network::balanced_begins(network, costs);
  } else {
    if (cut.size() + 1 != stages) {
      throw UsageError(fmt::format("--cut names where {} stages begin after the first one, and placement '{}' has {}",
                                   cut.size(), plan.text, stages - 1));
    }
    begins = network::begins_of(network, cut);
  }
  return network::cut(network, begins);
}

std::string stages_that_fit(placement::Plan plan, int first, std::int64_t limit_bytes,
                            const std::function<std::int64_t(const placement::Plan&)>& largest_bytes) {
  constexpr int kMostStages = 16;
  for (int stages = first; stages <= kMostStages; ++stages) {
    for (auto& replica : plan.replicas) {
      replica.stages.assign(static_cast<std::size_t>(stages), placement::PlanStage(replica.stages.front()));
    }
    try {
      const std::int64_t needed = largest_bytes(plan);
      if (needed > limit_bytes) continue;
      return fmt::format(
          "divided over {} stages (as '..' in --on cpu/t1..cpu/t1 does), each takes no more than about {}", stages,
          bytes_text(static_cast<std::uint64_t>(std::max<std::int64_t>(0, needed))));
    } catch (const UsageError&) {
      return "";  // it has no layers for more
    }
  }
  return "";
}

}  // namespace evener::task
