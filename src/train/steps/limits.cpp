#include "train/steps/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <variant>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/precision.h"
#include "network/cost.h"
#include "parallel/shares.h"

namespace evener::training {

namespace {

/// The images of each micro-batch of a whole batch.
std::vector<std::int64_t> whole_batch(std::size_t train_images, std::int64_t batch, int accumulate) {
  const std::int64_t images = std::min(batch, static_cast<std::int64_t>(train_images));
  return parallel::micro_batches(images, batch, accumulate);
}

struct NamedPart {
  const char* name;
  std::vector<std::int64_t> counts;  // of each class
};

}  // namespace

std::vector<std::int64_t> class_counts(const data::Dataset& dataset, std::span<const std::uint32_t> samples) {
  std::vector<std::int64_t> counts(dataset.classes().size());
  for (const std::uint32_t sample : samples) {
    const data::SampleTargets targets = dataset.targets(sample);
    if (const auto* label = std::get_if<std::int32_t>(&targets)) {
      ++counts.at(static_cast<std::size_t>(*label));
    } else {
      for (const data::LabelledBox& box : std::get<std::vector<data::LabelledBox>>(targets)) {
        ++counts.at(static_cast<std::size_t>(box.label));
      }
    }
  }
  return counts;
}

std::vector<std::string> lacking_classes(const data::OpenedData& data, bool trains) {
  constexpr std::size_t kMostNamed = 5;
  const std::vector<std::string>& names = data.dataset->classes();
  const bool has_boxes = data.dataset->target_kind() == data::TargetKind::kBoxes;
  const NamedPart parts[] = {{"to train on", class_counts(*data.dataset, data.split.train)},
                             {"to validate on", class_counts(*data.dataset, data.split.val)},
                             {"to test on", class_counts(*data.dataset, data.split.test)}};
  std::vector<std::string> sentences;
  for (const NamedPart& part : parts) {
    const bool is_training = &part == parts;
    const auto all = std::accumulate(part.counts.begin(), part.counts.end(), std::int64_t{0});
    if (is_training ? !trains : all == 0) continue;
    std::size_t present = 0, lacking = 0;
    std::string only, lacked;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (part.counts[i] > 0 && ++present == 1) only = quoted_text(names[i]);
      std::vector<std::string> elsewhere;
      for (const NamedPart& other : parts) {
        if (other.counts[i] > 0) elsewhere.push_back(fmt::format("{} {}", other.counts[i], other.name));
      }
      if (part.counts[i] > 0 || elsewhere.empty() || ++lacking > kMostNamed) continue;
      lacked += fmt::format("{}{} ({})", lacked.empty() ? "" : ", ", quoted_text(names[i]), fmt::join(elsewhere, ", "));
    }
    if (lacking == 0) continue;
    sentences.push_back(fmt::format(
        "of the {} {}{}, none is of {}{}: {}", has_boxes ? counted(all, "box", "boxes") : counted(all, "image"),
        part.name, present == 1 ? ", all of class " + only : "", lacked,
        lacking > kMostNamed ? fmt::format(" and {} more", counted(lacking - kMostNamed, "class", "classes")) : "",
        is_training ? "what is not trained is not found" : "the figures of this part say nothing of that"));
  }
  return sentences;
}

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

void require_visible_crop(const data::AugmentOptions& augment, const data::ImageShape& image) {
  const std::int64_t side = std::min(image.width, image.height);
  if (augment.crop_padding < side) return;
  throw UsageError("--augment crop:" + std::to_string(augment.crop_padding) +
                   " shifts images by up to that many pixels, and they have " + std::to_string(image.width) + "x" +
                   std::to_string(image.height) + ": some would be black all over. Give it less than " +
                   std::to_string(side) + "; an eighth of the side, as 4 for 32 pixels, is usual");
}

void require_data_on_device(const placement::Plan& plan, const data::AugmentOptions& augment,
                            const std::string& engine) {
  if (!placement::uses_accelerator(plan)) {
    throw UsageError("--data-on device keeps the images in a GPU's memory, and placement '" + plan.text +
                     "' has no GPU; leave it out, or name one, as in --on cuda:0");
  }
  if (augment.any() && engine != "torch") {
    throw UsageError("--data-on device keeps the images on the GPU as they are, and the " + engine +
                     " engine has them changed on the CPU in each epoch (--augment); leave one of them out, or take "
                     "--engine torch, which changes them on the GPU");
  }
  if (const std::string names = data::done_on_host(augment); !names.empty()) {
    throw UsageError("--data-on device keeps the images on the GPU, which changes them there, but for " + names +
                     " (--augment), done on the CPU; leave that or --data-on device out");
  }
}

int usual_loader_threads(const placement::Plan& plan, int rank) {
  constexpr int kMost = 16;
  if (plan.replicas.empty() || placement::stage_of(plan, rank).device.kind == DeviceKind::kCpu) return 1;
  int here = 0, computing = 0, gpus = 0;
  for (const auto& process : plan.processes) here += static_cast<int>(process.ranks.size());
  const int hosts = here > 0 ? placement::rank_count(plan) / here : 1;
  for (const auto& replica : plan.replicas) {
    for (const auto& stage : replica.stages) {
      const bool is_cpu = stage.device.kind == DeviceKind::kCpu;
      computing += is_cpu ? stage.threads : 0;
      gpus += is_cpu ? 0 : 1;
    }
  }
  return std::clamp((hosts * plan.cores - computing) / 2 / gpus, 1, kMost);
}

}  // namespace evener::training
