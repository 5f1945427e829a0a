#include "train/steps/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "base/error.h"
#include "base/names.h"
#include "base/precision.h"
#include "base/tensor.h"
#include "network/cost.h"
#include "network/step_memory.h"

namespace evener::training {
namespace {

/// Micro-batches for each stage where nobody says how many: of 4 p, an equal pipeline waits (p - 1) / (5 p - 1).
constexpr int kMicroBatchesPerStage = 4;

/// Samples of a whole batch that each replica gets, at most.
std::int64_t share_of(const placement::Plan& plan, std::int64_t batch) {
  double most = 0;
  for (const auto& replica : plan.replicas) most = std::max(most, replica.share.value_or(1));
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(batch) * most + 0.999), 1, batch);
}

bool takes_whole_batches(const TrainOptions& options, const network::Network& network) {
  return network::has_batch_norm(network) && !options.local_batch_norm;
}

std::vector<std::int64_t> numbers_of(const network::Network& network, const std::vector<int>& layers) {
  std::vector<std::int64_t> numbers;
  for (const int layer : layers) {
    numbers.push_back(element_count(network.layers()[static_cast<std::size_t>(layer)].shape));
  }
  return numbers;
}

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

std::int64_t sum_of(const std::vector<std::int64_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0});
}

}  // namespace

void require_possible_stages(const TrainOptions& options, const TrainSetup& setup) {
  const std::string stages = "stages ('" + options.plan.text + "') ";
  if (!setup.network.anchors().empty()) {
    throw UsageError(stages +
                     "are for classifiers: a detector's losses need all of its outputs in one place; leave out '..'");
  }
  if (options.engine == "native") {
    throw UsageError(stages + "are computed by the torch engine; leave out --engine native");
  }
  if (options.data_on_device) {
    throw UsageError(stages + "take their images batch by batch; leave out --data-on device");
  }
  if (options.accumulate > 1) {
    throw UsageError(stages + "compute a batch in parts anyway: give --micro-batches instead of --accumulate");
  }
  if (options.trainer.precision == Precision::kFp16) {
    throw UsageError(stages + "can't scale the loss together: use --precision bf16 instead of fp16");
  }
  const std::int64_t share = share_of(options.plan, options.batch);
  if (options.micro_batches > share) {
    throw UsageError(
        fmt::format("--micro-batches {}: a replica's share of a batch has {} samples", options.micro_batches, share));
  }
  const auto replicas = static_cast<std::int64_t>(options.plan.replicas.size());
  if (!takes_whole_batches(options, setup.network)) return;
  if (options.micro_batches > 1) {
    throw UsageError(
        fmt::format("--micro-batches {}: batch-norm takes the statistics of the whole batch, which therefore passes "
                    "the stages in one piece; leave it out, or give --batch-norm local, which changes what is learnt",
                    options.micro_batches));
  }
  const std::int64_t rest = static_cast<std::int64_t>(setup.train_images) % options.batch;
  if (rest > 0 && rest < replicas) {
    throw UsageError(
        fmt::format("the last batch of an epoch has {} of {} images, fewer than the {} replicas, and stages with "
                    "batch-norm need one each; give another --batch, or --batch-norm local",
                    rest, setup.train_images, replicas));
  }
}

std::vector<network::NetworkStage> divided_layers(const TrainOptions& options, const network::Network& network,
                                                  network::StageCosts costs) {
  if (options.stage_memory_bytes > 0) {
    const int stages = placement::stage_count(options.plan), parts = micro_batch_count(options, network);
    costs.fits = [&options, &network, stages, parts](std::size_t stage, int begin, int end) {
      const network::Network part = network::stretch(network, begin, end).network;
      return memory_of_stage(options, part, static_cast<int>(stage), stages, parts).bytes() <=
             options.stage_memory_bytes;
    };
  }
  return inference::divided_layers(options.plan, options.cut, network, costs);
}

int micro_batch_count(const TrainOptions& options, const network::Network& network) {
  if (takes_whole_batches(options, network)) return 1;
  if (options.micro_batches > 0) return options.micro_batches;
  const std::int64_t share = share_of(options.plan, options.batch);
  const std::int64_t wanted = kMicroBatchesPerStage * static_cast<std::int64_t>(placement::stage_count(options.plan));
  return static_cast<int>(std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, share / 2)));
}

std::int64_t images_of_micro_batch(const TrainOptions& options, int micro_batches) {
  return std::max<std::int64_t>(2, share_of(options.plan, options.batch) / micro_batches);
}

std::int64_t images_at_once(const TrainOptions& options, int parts) {
  return (share_of(options.plan, options.batch) + parts - 1) / parts;
}

std::vector<std::string> stage_notes(const TrainOptions& options, const TrainSetup& setup) {
  std::vector<std::string> notes;
  const network::LayerCost all = network::total_cost(setup.network);
  const auto operations = [](const network::LayerCost& cost) {
    return static_cast<double>(cost.forward_flops + cost.backward_flops);
  };
  for (std::size_t s = 0; s < setup.division.stages.size(); ++s) {
    const network::NetworkStage& stage = setup.division.stages[s];
    const auto name = [&](int layer) { return setup.network.layers()[static_cast<std::size_t>(layer)].name; };
    const network::LayerCost cost = network::total_cost(stage.network);
    const std::int64_t sent = sum_of(numbers_of(setup.network, stage.sent));
    notes.push_back(fmt::format(
        "stage {}: {} to {}, {:.0f} % of the operations, {} parameters{}", s, name(stage.first), name(stage.last),
        100 * operations(cost) / std::max(1.0, operations(all)), si_text(static_cast<double>(cost.parameters)),
        sent == 0 ? "" : fmt::format("; {} go on for each sample", bytes_text(static_cast<std::uint64_t>(sent) * 4))));
  }
  if (options.epochs == 0) return notes;
  if (takes_whole_batches(options, setup.network)) {
    notes.push_back(
        "batch-norm takes the statistics of the whole batch, which therefore passes the stages in one piece: one stage "
        "computes at a time. --batch-norm local lets them compute at once, and changes what is learnt");
  } else if (network::has_batch_norm(setup.network) && setup.division.micro_batches > 1) {
    notes.push_back(
        fmt::format("batch-norm took the statistics of each of {} micro-batches alone, which changes what is learnt "
                    "(--batch-norm local)",
                    setup.division.micro_batches));
  }
  return notes;
}

void fill_stage(const TrainOptions& options, const placement::Plan& plan, const network::Network& network,
                const Division& division, int stage, parallel::ReplicaOptions& replica) {
  const network::NetworkStage& part = division.stages.at(static_cast<std::size_t>(stage));
  replica.trainer.stage = {stage, static_cast<int>(division.stages.size()),
                           parallel::splits_backward(options.pipeline_schedule), division.micro_batches};
  replica.stage.micro_batches = division.micro_batches;
  replica.stage.share = share_of(plan, options.batch);
  replica.stage.schedule = options.pipeline_schedule;
  replica.stage.received = numbers_of(network, part.received);
  replica.stage.sent = numbers_of(network, part.sent);
  // Only the first stage sees pixels; those of mixed images decide their targets, too.
  const bool mixes = replica.trainer.stage.is_last() && replica.loader.augmentation.options.mixup > 0;
  if (replica.trainer.stage.is_first() || mixes) return;
  replica.loader.pixels = false;
  replica.loader.augmentation = {};
}

StageMemory memory_of_stage(const TrainOptions& options, const network::Network& part, int stage, int stages,
                            int micro_batches) {
  const network::TrainingMemory memory = network::training_memory(part);
  const auto tasks = parallel::stage_tasks(options.pipeline_schedule, stage, stages, micro_batches);
  const int bits = activation_bits(options.trainer.precision);
  const std::int64_t images = images_at_once(options, micro_batches);
  const bool is_on_cpu = on_cpu(options.plan, stage);
  const network::StepMemory step(part, {.bits = bits,
                                        .adds_up = micro_batches > 1,
                                        .is_first = stage == 0,
                                        .is_last = stage + 1 == stages,
                                        .copies_inputs = !is_on_cpu,
                                        .has_scratch = false});
  StageMemory needed;
  needed.fixed_bytes = memory.fixed_bytes(engine::optimizer_slots(options.trainer.optimizer)) - memory.gradient_bytes;
  needed.micro_batch_bytes = step.kept_bytes(images);
  needed.computed_bytes = step.peak_bytes(images) - needed.micro_batch_bytes;
  if (stages > 1 && micro_batches > 1 && is_on_cpu) {
    // What isn't transformed is kept as in 16 bits, whose sum is that of float32.
    const bool transforms = bits == 32 && options.trainer.torch.convolution != engine::ConvolutionChoice::kDirect;
    needed.reordered_bytes = network::reordered_bytes(part, images, transforms);
  }
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
    const Division by_operations{divided_layers(otherwise, network, inference::estimated_costs(network, plan)),
                                 micro_batch_count(otherwise, network)};
    return largest(stage_memory(otherwise, network, by_operations));
  };
  const std::string fits = inference::stages_that_fit(options.plan, count + 1, options.stage_memory_bytes, divided);
  throw UsageError(
      fmt::format("training {} on '{}' doesn't fit into the {} that --memory gives each device: {} takes about {}, of "
                  "which {} are activations; {}",
                  network.model(), options.plan.text, bytes_of(options.stage_memory_bytes), what,
                  bytes_of(most->bytes()), bytes_of(most->kept * most->micro_batch_bytes),
                  fits.empty() ? "use a smaller --batch or a smaller --size" : fits));
}

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
    const double speed = stage.factor * (stage.device.kind == DeviceKind::kCpu ? 1 : inference::kThreadsOfAccelerator);
    longest_s = std::max(longest_s, parameters * kBytesPerParameter / inference::kCopied_bytes_per_s / speed);
  }
  return longest_s;
}

std::vector<parallel::StageTimes> stage_times(const network::Network& network,
                                              std::span<const network::NetworkStage> stages,
                                              std::span<const std::vector<parallel::StageTimes>> layers,
                                              std::int64_t images, const placement::PlanReplica& replica) {
  const double of_number = inference::crossing_seconds(images);
  std::vector<parallel::StageTimes> times;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const network::NetworkStage& stage = stages[s];
    const std::int64_t crossing = sum_of(numbers_of(network, stage.received)) + sum_of(numbers_of(network, stage.sent));
    const double crossing_s = of_number * static_cast<double>(crossing);
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

}  // namespace evener::training
