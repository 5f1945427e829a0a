#include <algorithm>

#include "engine/engine.h"
#include "network/cost.h"
#include "plan/planner.h"
#include "task/training/limits.h"
#include "task/training/training_memory.h"

namespace evener::plan {

Work work_of(const task::Trials& trials) {
  const auto& setup = trials.setup();
  const auto& options = trials.options();
  Work work;
  work.train_images = static_cast<double>(setup.train_images);
  work.validation_images = static_cast<double>(setup.val_images);
  work.batch = static_cast<double>(trials.batch());
  constexpr int kCommandAndLoss = 2;
  work.small_exchanges = kCommandAndLoss;
  for (const auto& layer : setup.network.layers()) {
    // In each micro-batch the forward pass all-reduces statistics, and the backward pass their gradients.
    const auto* norm = std::get_if<network::BatchNorm>(&layer.op);
    if (!options.local_batch_norm && norm != nullptr && !norm->frozen) {
      work.small_exchanges += 2 * options.accumulate;
    }
  }
  const auto memory = network::training_memory(setup.network);
  work.gradient_bytes = static_cast<double>(memory.gradient_bytes) /
                        (options.communication_dtype == comm::CommunicationDtype::kBFloat16 ? 2 : 1);
  work.memory_bytes = [trials](const placement::Plan& plan) {
    const auto estimate =
        task::estimated_memory(trials.setup().network, task::training_work(trials.options(), plan, trials.setup()));
    return static_cast<double>(estimate.total_bytes());
  };
  if (!options.loader_threads) {
    work.loader_speedup = [](const placement::Plan& plan) {
      int most = 1;
      for (int r = 0; r < placement::rank_count(plan); ++r) most = std::max(most, task::usual_loader_threads(plan, r));
      return static_cast<double>(most);
    };
  }
  const auto cost = network::total_cost(setup.network);
  if (cost.forward_flops > 0) {
    work.forward_share =
        static_cast<double>(cost.forward_flops) / static_cast<double>(cost.forward_flops + cost.backward_flops);
  }
  return work;
}

}  // namespace evener::plan
