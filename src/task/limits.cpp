#include "task/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/precision.h"
#include "network/batch_norm.h"
#include "network/cost.h"
#include "parallel/micro_batches.h"

namespace evener::task {

namespace {

struct Need {
  std::int64_t fixed_bytes, per_sample_bytes;
};

Need need_of(const network::Network& network, const engine::TrainerOptions& trainer) {
  const auto memory = network::training_memory(network);
  return {memory.fixed_bytes(engine::optimizer_slots(trainer.optimizer)),
          memory.sample_bytes(activation_bits(trainer.precision))};
}

/// The images of each micro-batch of a whole batch.
std::vector<std::int64_t> whole_batch(std::size_t train_images, std::int64_t batch, int accumulate) {
  const std::int64_t images = std::min(batch, static_cast<std::int64_t>(train_images));
  return parallel::micro_batches(images, batch, accumulate);
}

std::int64_t fitting(const Need& need, std::int64_t available) {
  return std::max<std::int64_t>(0, (available - need.fixed_bytes) / need.per_sample_bytes);
}

}  // namespace

void require_same_kind(const network::Network& network, bool data_has_boxes, const std::string& data) {
  if (network.anchors().empty() != data_has_boxes) return;
  if (data_has_boxes) {
    throw UsageError("'" + data + "' has boxes on its images, and " + network.model() +
                     " finds one class for each image; train a detector on it, such as ssdlite_mobilenet_v2");
  }
  throw UsageError(network.model() + " detects objects, and '" + data +
                   "' has one class for each image but no boxes; give data with boxes (VOC, COCO, YOLO, synth:shapes), "
                   "or train a classifier, such as mobilenet_v2");
}

void require_objects(const data::OpenedData& data, const std::string& name) {
  for (const std::uint32_t sample : data.split.train) {
    const data::SampleTargets targets = data.dataset->targets(sample);
    const auto& boxes = std::get<std::vector<data::LabelledBox>>(targets);
    if (!std::ranges::all_of(boxes, &data::LabelledBox::is_crowd)) return;
  }
  throw Error(
      fmt::format("none of the {} images to train on in '{}' has a box, so that there is nothing to learn; "
                  "look at its parts with evener data info",
                  data.split.train.size(), name));
}

std::int64_t predicted_largest_batch(const network::Network& network, const engine::TrainerOptions& trainer) {
  return fitting(need_of(network, trainer), static_cast<std::int64_t>(memory_limits().available_bytes));
}

void require_memory(const network::Network& network, std::size_t train_images, std::int64_t batch, int accumulate,
                    const engine::TrainerOptions& trainer, const std::string& smaller_size) {
  const Need need = need_of(network, trainer);
  const auto available = static_cast<std::int64_t>(memory_limits().available_bytes);
  const std::int64_t fits = fitting(need, available);
  const std::int64_t at_once = std::ranges::max(whole_batch(train_images, batch, accumulate));
  if (at_once <= fits) return;
  const std::string size = smaller_size.empty() ? "" : ", such as --size " + smaller_size;
  const std::string needed = bytes_text(static_cast<std::uint64_t>(need.fixed_bytes + at_once * need.per_sample_bytes));
  const std::string there_is = bytes_text(static_cast<std::uint64_t>(available));
  if (fits == 0) {
    throw Error("training " + network.model() + " takes about " + needed + " of memory; " + there_is +
                " are available, too little for a batch of one. Use a smaller --size" +
                (size.empty() ? " or a smaller model" : size));
  }
  const std::string what =
      accumulate == 1 ? "a batch of " + std::to_string(at_once)
                      : "a part of " + std::to_string(at_once) + " images of a batch of " + std::to_string(batch);
  throw Error(what + " takes about " + needed + " of memory; " + there_is +
              " are available. The largest --batch that fits is about " + std::to_string(fits * accumulate) +
              "; with --accumulate " + std::to_string((batch + fits - 1) / fits) + " this one does, part by part" +
              (size.empty() ? "" : "; or bring the images to a smaller size" + size));
}

bool MemoryEstimate::is_tight() const {
  constexpr double kShare = 0.7;
  return static_cast<double>(to_come_bytes) > kShare * static_cast<double>(free_bytes);
}

bool MemoryEstimate::is_much() const {
  constexpr std::int64_t kMuch_bytes = 1'000'000'000;
  return total_bytes() >= kMuch_bytes || to_come_bytes >= free_bytes / 4;
}

MemoryEstimate estimated_memory(const network::Network& network, const engine::TrainerOptions& trainer,
                                const TrainingSize& size, const data::ImageShape& image) {
  constexpr std::int64_t kProgramBytes = 350'000'000;  // as was seen of trainings whose network is tiny
  // Freed blocks of one size don't hold those of another: MobileNetV2 at 224x224 took a tenth more than its layers sum
  // up to, with a batch of 64.
  constexpr double kUnfit = 1.1;
  const Need need = need_of(network, trainer);
  MemoryEstimate estimate;
  estimate.images_at_once = std::ranges::max(whole_batch(size.train_images, size.batch, size.accumulate));
  estimate.program_bytes = kProgramBytes;
  estimate.image_bytes = static_cast<std::int64_t>(size.images) * image.channels * image.height * image.width;
  estimate.weight_bytes = need.fixed_bytes * size.replicas;
  estimate.activation_bytes =
      static_cast<std::int64_t>(kUnfit * static_cast<double>(estimate.images_at_once * need.per_sample_bytes));
  estimate.free_bytes = static_cast<std::int64_t>(memory_limits().available_bytes);
  // Images that don't fit into half of what is free are decoded again in each epoch.
  if (!size.images_are_loaded) estimate.image_bytes = std::min(estimate.image_bytes, estimate.free_bytes / 2);
  estimate.to_come_bytes = estimate.weight_bytes + estimate.activation_bytes;
  if (!size.images_are_loaded) estimate.to_come_bytes += estimate.image_bytes;
  return estimate;
}

std::string memory_text(const MemoryEstimate& estimate) {
  const auto bytes = [](std::int64_t value) { return bytes_text(static_cast<std::uint64_t>(value)); };
  std::string text = fmt::format(
      "memory: about {} at the peak: {} for the activations of {} at once, {} for weights, gradients and the "
      "optimizer's values, {} for decoded images, {} for the program; {} are free",
      bytes(estimate.total_bytes()), bytes(estimate.activation_bytes), counted(estimate.images_at_once, "image"),
      bytes(estimate.weight_bytes), bytes(estimate.image_bytes), bytes(estimate.program_bytes),
      bytes(estimate.free_bytes));
  if (!estimate.is_tight()) return text;
  return "warning: " + text +
         ". That comes close: a smaller --batch, --accumulate 2 or more, --precision bf16 or a smaller --size take "
         "less";
}

void require_disk_space(const std::filesystem::path& out, const network::Network& network,
                        const engine::OptimizerOptions& optimizer) {
  const auto memory = network::training_memory(network);
  const std::int64_t weights = memory.weight_bytes + memory.buffer_bytes;
  const std::int64_t overhead_bytes = 1 << 20;  // headers, records, samples
  // Best and last, and both once more: the new best waits for the new last, which is written before the old one goes.
  const std::int64_t needed =
      4 * weights + 2 * engine::optimizer_slots(optimizer) * memory.weight_bytes + overhead_bytes;
  require_writable_directory(out, static_cast<std::uint64_t>(needed));
}

void require_trainable_batch(const network::Network& network, std::size_t train_images, std::int64_t batch,
                             int accumulate) {
  const auto last = static_cast<std::int64_t>(train_images) % batch;
  const bool single = std::ranges::min(whole_batch(train_images, batch, accumulate)) == 1 ||
                      std::ranges::min(parallel::micro_batches(last, batch, accumulate)) == 1;
  const network::Layer* layer = single ? network::norm_of_one_value(network) : nullptr;
  if (layer == nullptr) return;
  const bool in_parts = accumulate > 1;
  throw UsageError(
      "with " + std::to_string(train_images) + " training images" + (in_parts ? ", " : " and ") + "--batch " +
      std::to_string(batch) + (in_parts ? " and --accumulate " + std::to_string(accumulate) + " a part of a" : " a") +
      " batch has one image, and batch-norm layer '" + layer->name + "' (output " + shape_text(layer->shape) +
      ") would have one value per channel, too few for a variance. Use another " + "--batch" +
      (in_parts ? ", a smaller --accumulate" : "") + " or a larger --size");
}

std::int64_t least_share(const network::Network& network, bool local_batch_norm) {
  return local_batch_norm && network::norm_of_one_value(network) != nullptr ? 2 : 1;
}

bool uses_accelerator(const placement::Plan& plan) {
  return std::ranges::any_of(plan.replicas, placement::uses_accelerator);
}

void require_visible_crop(const data::AugmentOptions& augment, const data::ImageShape& image) {
  const std::int64_t side = std::min(image.width, image.height);
  if (augment.crop_padding < side) return;
  throw UsageError("--augment crop:" + std::to_string(augment.crop_padding) +
                   " shifts images by up to that many pixels, and they have " + std::to_string(image.width) + "x" +
                   std::to_string(image.height) + ": some would be black all over. Give it less than " +
                   std::to_string(side) + "; an eighth of the side, as 4 for 32 pixels, is usual");
}

void require_data_on_device(const placement::Plan& plan, const data::AugmentOptions& augment) {
  if (!uses_accelerator(plan)) {
    throw UsageError("--data-on device keeps the images in a GPU's memory, and placement '" + plan.text +
                     "' has no GPU; leave it out, or name one, as in --on cuda:0");
  }
  if (augment.any()) {
    throw UsageError(
        "--data-on device keeps the images on the GPU as they are, and --augment changes them on the CPU in each "
        "epoch; leave one of them out");
  }
}

}  // namespace evener::task
