#include "train/steps/training_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "base/cpu.h"
#include "base/error.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/precision.h"
#include "network/cost.h"
#include "network/step_memory.h"
#include "parallel/shares.h"
#include "train/steps/stages.h"

namespace evener::training {
namespace {

/// Memory of the program itself, measured by trainings with tiny networks and images (tools/memory-table measures it
/// anew).
constexpr std::int64_t kNativeProgram_bytes = 17'000'000;
constexpr std::int64_t kTorchLibraries_bytes = 82'000'000;    // pages of files, which processes share
constexpr std::int64_t kConvolutionPages_bytes = 14'000'000;  // more of them, where there are convolutions
constexpr std::int64_t kTorchProgram_bytes = 66'000'000;      // what the libraries make for themselves
constexpr std::int64_t kLoadingProgram_bytes = 35'000'000;    // the same in a process that computes nothing
constexpr std::int64_t kInheritedProgram_bytes = 45'000'000;  // pages that its children don't touch
/// Measured gaps in the heap, where freed blocks of one size don't hold those of another: the first is a factor of a
/// step's memory, the others are shares of the weights, of which copies come and go, always and where a checkpoint is
/// written.
constexpr double kStepGaps = 1.08, kWeightGaps = 1.15, kCheckpointGaps = 0.6;
constexpr double kChildWeightGaps = 1.65;  // of the weights that a process of replicas or stages computes with
/// A loader has so many batches: two that are ready, and the one that is looked at.
constexpr std::int64_t kBatchesOfLoader = 3;

std::int64_t times(double factor, std::int64_t bytes) {
  return static_cast<std::int64_t>(factor * static_cast<double>(bytes));
}

bool is_native(const TrainingWork& work) {
  return work.engine == "native";
}

/// Pages of libraries, which processes share.
std::int64_t library_bytes(const network::Network& network, const TrainingWork& work) {
  if (is_native(work)) return 0;
  const bool has_convolutions = std::ranges::any_of(
      network.layers(), [](const network::Layer& layer) { return std::holds_alternative<network::Conv2d>(layer.op); });
  return kTorchLibraries_bytes + (has_convolutions ? kConvolutionPages_bytes : 0);
}

/// The images of the largest micro-batch of a whole batch.
std::int64_t most_at_once(const TrainingWork& work) {
  const std::int64_t images = std::min(work.batch, static_cast<std::int64_t>(work.train_images));
  return std::ranges::max(parallel::micro_batches(images, work.batch, work.accumulate));
}

/// Of one replica: what stays from step to step, and what a checkpoint needs beside it.
struct Kept {
  std::int64_t always_bytes = 0, checkpoint_bytes = 0;
};

Kept kept_by(const network::Network& network, const TrainingWork& work) {
  const network::TrainingMemory memory = network::training_memory(network);
  const std::int64_t all = memory.weight_bytes + memory.buffer_bytes;
  const std::int64_t slots = engine::optimizer_slots(work.trainer.optimizer) * memory.weight_bytes;
  Kept kept;
  kept.always_bytes = all + slots + all;  // and the best so far
  if (is_native(work)) {
    // Its gradients have an array for good, and the weights of all layers but the first lie there transposed, too.
    kept.always_bytes += 2 * memory.weight_bytes;
    kept.checkpoint_bytes = all + slots;
  } else {
    kept.checkpoint_bytes = memory.gradient_bytes + all + slots;
  }
  return kept;
}

std::int64_t step_bytes_of(const network::Network& network, const TrainingWork& work, std::int64_t images) {
  const network::StepMemory step(
      network,
      {.bits = activation_bits(work.trainer.precision), .threads = work.threads, .adds_up = work.accumulate > 1});
  return step.peak_bytes(images) - (is_native(work) ? network::training_memory(network).gradient_bytes : 0);
}

/// Fills in what the processes of the ranks take, and the one that has loaded data and first weights for them. Replicas
/// with whole networks have weights, the optimiser's values and all gradients in arrays that they share
/// (Engine::shared_bytes), of which each touches the weights, its own gradients, and its part of the rest.
void fill_processes(const network::Network& network, const TrainingWork& work, std::int64_t step_bytes,
                    MemoryEstimate& estimate) {
  const network::TrainingMemory memory = network::training_memory(network);
  const std::int64_t all = memory.weight_bytes + memory.buffer_bytes, gradients = memory.gradient_bytes;
  const std::int64_t slots = engine::optimizer_slots(work.trainer.optimizer) * memory.weight_bytes;
  const std::int64_t libraries = library_bytes(network, work), replicas = work.local_replicas;
  const std::int64_t loader = is_native(work) ? kNativeProgram_bytes : libraries + kLoadingProgram_bytes;
  const std::int64_t child =
      is_native(work) ? kNativeProgram_bytes : libraries + kTorchProgram_bytes - kInheritedProgram_bytes;
  estimate.processes = work.processes + 1;
  estimate.program_bytes = loader + work.processes * child;
  estimate.shared_bytes = work.processes * libraries + replicas * estimate.image_bytes;
  estimate.image_bytes *= 1 + replicas;
  const std::int64_t written = all + slots;
  estimate.weight_bytes = all + times(1 + kCheckpointGaps, all);  // the best ones, and the first ones
  if (work.stages_bytes > 0) {
    estimate.is_checkpoint = false;
    estimate.weight_bytes += replicas * times(kChildWeightGaps, memory.weight_bytes);
    estimate.step_bytes = replicas * work.stages_bytes + written + times(kCheckpointGaps, all);
    return;
  }
  std::int64_t arrays = memory.weight_bytes + slots + gradients;
  if (work.shares_arrays) {
    arrays = memory.weight_bytes + slots / replicas + gradients + gradients * (replicas - 1) / replicas;
    estimate.shared_bytes += replicas * arrays - (memory.weight_bytes + slots + replicas * gradients);
  }
  const std::int64_t computed = times(kStepGaps, step_bytes - (is_native(work) ? 0 : gradients));
  estimate.weight_bytes += replicas * (arrays + times(kChildWeightGaps, memory.weight_bytes));
  estimate.is_checkpoint = written > computed;
  estimate.step_bytes = replicas * computed + std::max<std::int64_t>(0, written - computed);
}

std::string text_of(std::int64_t bytes) {
  return bytes_text(static_cast<std::uint64_t>(bytes));
}

/// The common part of all texts.
std::string parts_text(const MemoryEstimate& estimate) {
  const std::string images = counted(estimate.images_at_once, "image");
  return fmt::format(
      "{} for {}, {} for weights, the optimizer's values and the best weights so far, {} for batches, {} for the "
      "program",
      text_of(estimate.step_bytes),
      estimate.is_checkpoint ? "writing a checkpoint, which takes more than the activations of " + images + " at once"
                             : "gradients and the activations of " + images + " at once",
      text_of(estimate.weight_bytes), text_of(estimate.batch_bytes), text_of(estimate.program_bytes));
}

}  // namespace

TrainingWork training_work(const TrainOptions& options, const placement::Plan& plan) {
  TrainingWork work;
  // Guesses the engine that "auto" will choose, which is certain only when the data is known.
  const bool is_perceptron = options.model.starts_with("mlp:");
  work.engine = options.engine == "auto" ? (is_perceptron ? "native" : "torch") : options.engine;
  work.trainer = options.trainer;
  work.batch = options.batch;
  work.accumulate = options.accumulate;
  work.replicas = work.local_replicas = std::max(1, static_cast<int>(plan.replicas.size()));
  if (placement::has_other_hosts(plan)) {
    int ranks = 0;
    for (const auto& process : plan.processes) ranks += static_cast<int>(process.ranks.size());
    work.local_replicas = ranks / placement::stage_count(plan);
  }
  work.processes = std::max(1, static_cast<int>(plan.processes.size()));
  const engine::OptimizerOptions& optimizer = options.trainer.optimizer;
  work.shares_arrays = !placement::has_other_hosts(plan) && !options.always_exchange && optimizer.clip_norm == 0 &&
                       optimizer.average_decay == 0 && options.trainer.precision != Precision::kFp16 &&
                       options.communication_dtype == comm::CommunicationDtype::kFloat32;
  work.threads = plan.replicas.empty() ? options.trainer.threads : plan.replicas.front().stages.front().threads;
  work.images_are_loaded = !options.data.look_only;
  return work;
}

TrainingWork training_work(const TrainOptions& options, const placement::Plan& plan, const TrainSetup& setup) {
  TrainingWork work = training_work(options, plan);
  if (!setup.engine.empty()) work.engine = setup.engine;
  work.image = setup.image;
  work.images = setup.images;
  work.train_images = setup.train_images;
  work.loads_batches = !setup.engine_reads_data;
  if (setup.division.stages.empty()) return work;
  for (const StageMemory& stage : stage_memory(options, setup.network, setup.division)) {
    work.stages_bytes += stage.bytes();
  }
  return work;
}

MemoryEstimate estimated_memory(const network::Network& network, const TrainingWork& work) {
  MemoryEstimate estimate;
  const std::int64_t image = work.image.channels * work.image.height * work.image.width;
  const auto images = static_cast<std::int64_t>(work.images), trained = static_cast<std::int64_t>(work.train_images);
  estimate.images_at_once = most_at_once(work);
  estimate.program_bytes = is_native(work) ? work.local_replicas * kNativeProgram_bytes
                                           : library_bytes(network, work) + work.local_replicas * kTorchProgram_bytes;
  estimate.image_bytes = images * image;
  if (work.loads_batches) {
    const std::int64_t most = kBatchesOfLoader * work.batch;
    estimate.batch_bytes =
        (std::min(most, trained) + std::min(most, std::max<std::int64_t>(0, images - trained))) * image;
  }
  const Kept kept = kept_by(network, work);
  const std::int64_t share = (estimate.images_at_once + work.replicas - 1) / work.replicas;
  const std::int64_t step = step_bytes_of(network, work, share);
  const std::int64_t weights = network::training_memory(network).weight_bytes;
  const std::int64_t computed = times(kStepGaps, step);
  const std::int64_t written = kept.checkpoint_bytes + times(kCheckpointGaps, weights);
  estimate.is_checkpoint = written > computed;
  estimate.weight_bytes = work.local_replicas * (kept.always_bytes + times(kWeightGaps, weights));
  // All replicas compute, the first one writes.
  estimate.step_bytes = work.local_replicas * computed + std::max<std::int64_t>(0, written - computed);
  estimate.free_bytes = static_cast<std::int64_t>(memory_limits().available_bytes);
  // Images that don't fit into half of what is free are decoded again in each epoch.
  if (!work.images_are_loaded) estimate.image_bytes = std::min(estimate.image_bytes, estimate.free_bytes / 2);
  const std::int64_t loaded = work.images_are_loaded ? estimate.image_bytes : 0;
  if (work.processes > 1) fill_processes(network, work, step, estimate);
  estimate.to_come_bytes = estimate.total_bytes() - estimate.shared_bytes - loaded;
  return estimate;
}

bool MemoryEstimate::is_tight() const {
  constexpr double kShare = 0.7;
  return static_cast<double>(to_come_bytes) > kShare * static_cast<double>(free_bytes);
}

bool MemoryEstimate::is_much() const {
  constexpr std::int64_t kMuch_bytes = 1'000'000'000;
  return total_bytes() >= kMuch_bytes || to_come_bytes >= free_bytes / 4;
}

std::string memory_text(const MemoryEstimate& estimate) {
  const std::string shared =
      estimate.processes == 1
          ? ""
          : fmt::format(" ({} processes, of which each counts pages that they share; {} in all)", estimate.processes,
                        text_of(estimate.total_bytes() - estimate.shared_bytes));
  const std::string text = fmt::format("memory: about {} at the peak{}: {}, {} for decoded images; {} are free",
                                       text_of(estimate.total_bytes()), shared, parts_text(estimate),
                                       text_of(estimate.image_bytes), text_of(estimate.free_bytes));
  if (!estimate.is_tight()) return text;
  return "warning: " + text +
         ". That comes close: a smaller --batch, --accumulate 2 or more, --precision bf16 or a smaller --size take "
         "less";
}

std::string memory_without_images_text(const MemoryEstimate& estimate) {
  return fmt::format("memory: about {} at the peak: {}", text_of(estimate.total_bytes() - estimate.image_bytes),
                     parts_text(estimate));
}

std::int64_t predicted_largest_batch(const network::Network& network, TrainingWork work) {
  const auto available = static_cast<std::int64_t>(memory_limits().available_bytes);
  const auto fits = [&](std::int64_t batch) {
    work.batch = batch;
    work.train_images = std::max(work.train_images, static_cast<std::size_t>(batch));
    return estimated_memory(network, work).to_come_bytes <= available;
  };
  if (!fits(1)) return 0;
  std::int64_t most = 1, too_many = 2;
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  while (too_many < kMost && fits(too_many)) too_many = 2 * (most = too_many);
  while (too_many - most > 1) {
    const std::int64_t middle = most + (too_many - most) / 2;
    (fits(middle) ? most : too_many) = middle;
  }
  return most;
}

void require_memory(const network::Network& network, const TrainingWork& work, const std::string& smaller_size) {
  const MemoryEstimate estimate = estimated_memory(network, work);
  const std::int64_t available = estimate.free_bytes;
  if (estimate.to_come_bytes <= available) return;
  TrainingWork at_once = work;
  at_once.accumulate = 1;
  const std::int64_t fits = predicted_largest_batch(network, at_once);
  const std::string size = smaller_size.empty() ? "" : ", such as --size " + smaller_size;
  const std::string needed = text_of(estimate.to_come_bytes), there_is = text_of(available);
  if (fits == 0) {
    throw Error("training " + network.model() + " takes about " + needed + " of memory; " + there_is +
                " are available, too little for a batch of one. Use a smaller --size" +
                (size.empty() ? " or a smaller model" : size) + ", " + memory_advice());
  }
  const std::string images = std::to_string(estimate.images_at_once), whole = std::to_string(work.batch);
  const std::string what =
      work.accumulate == 1 ? "a batch of " + images : "a part of " + images + " images of a batch of " + whole;
  throw Error(what + " takes about " + needed + " of memory; " + there_is +
              " are available. The largest --batch that fits is about " + std::to_string(fits * work.accumulate) +
              "; with --accumulate " + std::to_string((work.batch + fits - 1) / fits) + " this one does, part by part" +
              (size.empty() ? "" : "; or bring the images to a smaller size" + size));
}

}  // namespace evener::training
