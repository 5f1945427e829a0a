#include "task/training/stage_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/names.h"
#include "base/precision.h"
#include "network/cost.h"
#include "task/training/stages.h"

namespace evener::task {
namespace {

std::string bytes_of(std::int64_t bytes) {
  return bytes_text(static_cast<std::uint64_t>(std::max<std::int64_t>(0, bytes)));
}

std::int64_t largest(const std::vector<StageMemory>& stages) {
  std::int64_t most = 0;
  for (const StageMemory& stage : stages) most = std::max(most, stage.bytes());
  return most;
}

/// Whether a replica has its stage of this number on a CPU.
bool on_cpu(const placement::Plan& plan, int stage) {
  return std::ranges::any_of(plan.replicas, [stage](const placement::PlanReplica& replica) {
    const auto number = static_cast<std::size_t>(stage);
    return number < replica.stages.size() && replica.stages[number].device.kind == DeviceKind::kCpu;
  });
}

}  // namespace

StageMemory memory_of_stage(const TrainOptions& options, const network::Network& part, int stage, int stages,
                            int micro_batches) {
  const network::TrainingMemory memory = network::training_memory(part);
  const auto tasks = parallel::stage_tasks(options.pipeline_schedule, stage, stages, micro_batches);
  const int bits = activation_bits(options.trainer.precision);
  const std::int64_t images = images_at_once(options, micro_batches);
  const std::int64_t all_bytes = images * memory.sample_bytes(bits);
  const std::int64_t widest_bytes = images * memory.widest_bytes * bits / 32;
  StageMemory needed;
  needed.fixed_bytes = memory.fixed_bytes(engine::optimizer_slots(options.trainer.optimizer));
  needed.computed_bytes = widest_bytes + (micro_batches > 1 ? memory.largest_weight_bytes : 0);
  if (stages > 1 && micro_batches > 1 && on_cpu(options.plan, stage)) {
    // What isn't transformed is kept as in 16 bits, whose sum is that of float32.
    const bool transforms = bits == 32 && options.trainer.torch.convolution != engine::ConvolutionChoice::kDirect;
    needed.reordered_bytes = network::reordered_bytes(part, images, transforms);
  }
  needed.micro_batch_bytes = all_bytes - widest_bytes;
  needed.kept = parallel::most_kept(tasks);
  return needed;
}

std::vector<StageMemory> stage_memory(const TrainOptions& options, const network::Network& network,
                                      const Division& division) {
  if (division.stages.empty()) {
    StageMemory whole = memory_of_stage(options, network, 0, 1, std::max(1, options.accumulate));
    whole.kept = 1;  // of micro-batches that are computed one after the other
    return {whole};
  }
  std::vector<StageMemory> stages;
  const int count = static_cast<int>(division.stages.size());
  for (int s = 0; s < count; ++s) {
    const network::Network& part = division.stages[static_cast<std::size_t>(s)].network;
    stages.push_back(memory_of_stage(options, part, s, count, std::max(1, division.micro_batches)));
  }
  return stages;
}

void require_stage_memory(const TrainOptions& options, const network::Network& network, const Division& division) {
  if (options.stage_memory_bytes == 0) return;
  const std::vector<StageMemory> stages = stage_memory(options, network, division);
  const auto most = std::ranges::max_element(stages, {}, &StageMemory::bytes);
  if (most->bytes() <= options.stage_memory_bytes) return;
  const int count = static_cast<int>(stages.size());
  const std::string what = count == 1 ? "it" : fmt::format("stage {}", most - stages.begin());
  const auto divided = [&](const placement::Plan& plan) {
    TrainOptions otherwise = options;
    otherwise.plan = plan;
    otherwise.cut.clear();
    const Division by_operations{divided_layers(otherwise, network, estimated_costs(network, plan)),
                                 micro_batch_count(otherwise, network)};
    return largest(stage_memory(otherwise, network, by_operations));
  };
  const std::string fits = stages_that_fit(options.plan, count + 1, options.stage_memory_bytes, divided);
  throw UsageError(fmt::format(
      "training {} on '{}' doesn't fit into the {} that --memory gives each device: {} takes about {}, of which {} are "
      "activations; {}",
      network.model(), options.plan.text, bytes_of(options.stage_memory_bytes), what, bytes_of(most->bytes()),
      bytes_of(most->kept * most->micro_batch_bytes),
      fits.empty() ? "use a smaller --batch or a smaller --size" : fits));
}

}  // namespace evener::task
