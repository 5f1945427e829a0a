#include "task/training/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/tensor.h"
#include "network/batch_norm.h"
#include "network/cost.h"
#include "task/training/stage_memory.h"

namespace evener::task {
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

}  // namespace

void require_possible_stages(const TrainOptions& options, const TrainSetup& setup) {
  const std::string stages = "stages ('" + options.plan.text + "') ";
  if (!setup.network.anchors().empty()) {
    throw UsageError(stages +
                     "are for classifiers: a detector's losses need all of its outputs in one place; leave "
                     "out '..'");
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
        fmt::format("the last batch of an epoch has {} of {} images, fewer than the {} replicas, and "
                    "stages with batch-norm need one each; give another --batch, or --batch-norm local",
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
  return divided_layers(options.plan, options.cut, network, costs);
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
    std::int64_t sent = 0;
    for (const std::int64_t numbers : numbers_of(setup.network, stage.sent)) sent += numbers;
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
    notes.push_back(fmt::format(
        "batch-norm took the statistics of each of {} micro-batches alone, which changes what is learnt (--batch-norm "
        "local)",
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

}  // namespace evener::task
