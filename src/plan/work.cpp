#include "base/precision.h"
#include "engine/engine.h"
#include "network/cost.h"
#include "plan/planner.h"

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
    // Forward exchanges the statistics, backward their gradients, in each micro-batch.
    const auto* norm = std::get_if<network::BatchNorm>(&layer.op);
    if (!options.local_batch_norm && norm != nullptr && !norm->frozen) {
      work.small_exchanges += 2 * options.accumulate;
    }
  }
  const auto memory = network::training_memory(setup.network);
  work.gradient_bytes = static_cast<double>(memory.gradient_bytes) / (options.wire == comm::Wire::kBFloat16 ? 2 : 1);
  work.fixed_bytes = static_cast<double>(memory.fixed_bytes(engine::optimizer_slots(options.trainer.optimizer)));
  // One micro-batch after the other: of a batch's images so many at once.
  work.per_image_bytes =
      static_cast<double>(memory.sample_bytes(activation_bits(options.trainer.precision))) / options.accumulate;
  const auto cost = network::total_cost(setup.network);
  if (cost.forward_flops > 0) {
    work.forward_share =
        static_cast<double>(cost.forward_flops) / static_cast<double>(cost.forward_flops + cost.backward_flops);
  }
  return work;
}

}  // namespace evener::plan
