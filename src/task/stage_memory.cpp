#include "task/stage_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/names.h"
#include "base/precision.h"
#include "network/cost.h"
#include "task/stages.h"

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

/// So many stages like the first one of the plan.
TrainOptions with_stages(TrainOptions options, int stages) {
  for (auto& replica : options.plan.replicas) {
    replica.stages.assign(static_cast<std::size_t>(stages), replica.stages.front());
  }
  options.cut.clear();
  return options;
}

/// The fewest stages that fit, and what the largest of them takes; "" where none does.
std::string stages_that_fit(const TrainOptions& options, const network::Network& network, int first) {
  constexpr int kMostStages = 16;
  for (int stages = first; stages <= kMostStages; ++stages) {
    try {
      const TrainOptions divided = with_stages(options, stages);
      const Division division{divided_layers(divided, network, estimated_costs(network)),
                              micro_batch_count(divided, network)};
      const std::int64_t needed = largest(stage_memory(divided, network, division));
      if (needed <= options.stage_memory_bytes) {
        return fmt::format(
            "divided over {} stages (as '..' in --on cpu/t1..cpu/t1 does), each takes no more than "
            "about {}",
            stages, bytes_of(needed));
      }
    } catch (const UsageError&) {
      return "";  // it has no layers for more
    }
  }
  return "";
}

}  // namespace

std::vector<StageMemory> stage_memory(const TrainOptions& options, const network::Network& network,
                                      const Division& division) {
  const int bits = activation_bits(options.trainer.precision);
  const auto of = [&](const network::Network& part, std::int64_t images, int kept) {
    const network::TrainingMemory memory = network::training_memory(part);
    return StageMemory{memory.fixed_bytes(), images * memory.sample_bytes(bits), kept};
  };
  const auto parts = std::max(1, division.stages.empty() ? options.accumulate : division.micro_batches);
  const std::int64_t images = images_at_once(options, parts);
  if (division.stages.empty()) return {of(network, images, 1)};
  std::vector<StageMemory> stages;
  const int count = static_cast<int>(division.stages.size());
  for (int s = 0; s < count; ++s) {
    const auto tasks = parallel::stage_tasks(options.pipeline_schedule, s, count, division.micro_batches);
    stages.push_back(of(division.stages[static_cast<std::size_t>(s)].network, images, parallel::most_kept(tasks)));
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
  const std::string fits = stages_that_fit(options, network, count + 1);
  throw UsageError(fmt::format(
      "training {} on '{}' doesn't fit into the {} that --memory gives each device: {} takes about {}, of which {} are "
      "activations; {}",
      network.model(), options.plan.text, bytes_of(options.stage_memory_bytes), what, bytes_of(most->bytes()),
      bytes_of(most->bytes() - most->fixed_bytes), fits.empty() ? "use a smaller --batch or a smaller --size" : fits));
}

}  // namespace evener::task
