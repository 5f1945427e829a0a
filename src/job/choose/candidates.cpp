#include "job/choose/candidates.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/names.h"
#include "network/cost.h"
#include "network/zoo.h"
#include "task/training/training_memory.h"

namespace evener::job {
namespace {

constexpr std::int64_t kSmallImage = 48;  // pixels of the longer side: there networks for small images are at home
constexpr double kFewestBoxPixels = 8;    // a detector's finest map has a value for every 16 pixels
constexpr double kMemoryShare = 0.7;      // of what is free, that a training may take
constexpr std::int64_t kUsualBatch = 64, kSmallBatch = 16, kFewestSteps = 20;

struct Sketch {
  std::string model;
  ImageSize size;
};

bool is_same(const ImageSize& a, const ImageSize& b) {
  return a.width == b.width && a.height == b.height;
}

ImageSize square(std::int64_t side) {
  return {side, side};
}

/// Networks and sizes for classes without weights.
std::vector<Sketch> from_scratch(const ChoiceFacts& facts) {
  const data::ImageShape& image = facts.image;
  const std::int64_t longer = std::max(image.width, image.height);
  if (longer <= kSmallImage && !facts.size) {
    const std::int64_t values = image.channels * image.width * image.height;
    const ImageSize own{image.width, image.height};
    return {{fmt::format("mlp:{}-256-{}", values, facts.classes), own}, {"resnet20", own}, {"resnet32", own}};
  }
  return {{"resnet20", scaled_size(image, 64, 4)},
          {"resnet18", scaled_size(image, 128, 4)},
          {"resnet18", scaled_size(image, 224, 4)}};
}

std::vector<Sketch> detectors(const ChoiceFacts& facts) {
  const std::string model = facts.network.empty() ? "ssdlite_mobilenet_v2" : facts.network;
  if (model == "ssdlite320_mobilenet_v3_large") return {{model, square(320)}};
  return {{model, scaled_size(facts.image, 224, 8)},
          {model, scaled_size(facts.image, 320, 8)},
          {model, scaled_size(facts.image, 448, 8)}};
}

std::vector<Sketch> with_weights(const ChoiceFacts& facts) {
  const std::int64_t side = std::max(facts.trained_size.width, facts.trained_size.height);
  if (side < 128) return {{facts.network, facts.trained_size}};  // weights of small images know only these
  std::vector<Sketch> sketches;
  for (const std::int64_t parts : {4, 5, 7}) {  // of 224: 128, 160 and 224
    const ImageSize size{facts.trained_size.width * parts / 7 / 32 * 32,
                         facts.trained_size.height * parts / 7 / 32 * 32};
    if (parts < 7) sketches.push_back({facts.network, size});
  }
  sketches.push_back({facts.network, facts.trained_size});
  return sketches;
}

std::vector<Sketch> sketches_for(const ChoiceFacts& facts) {
  std::vector<Sketch> sketches = facts.has_boxes         ? detectors(facts)
                                 : facts.network.empty() ? from_scratch(facts)
                                                         : with_weights(facts);
  if (facts.size) {
    for (Sketch& sketch : sketches) sketch.size = *facts.size;
  }
  std::vector<Sketch> different;
  for (Sketch& sketch : sketches) {
    const bool is_known = std::ranges::any_of(different, [&](const Sketch& other) {
      return other.model == sketch.model && is_same(other.size, sketch.size);
    });
    if (!is_known) different.push_back(std::move(sketch));
  }
  return different;
}

std::int64_t usual_batch(const ChoiceFacts& facts) {
  if (facts.batch > 0) return facts.batch;
  if (facts.has_boxes) return kSmallBatch;
  return static_cast<std::int64_t>(facts.train_images) >= kFewestSteps * kUsualBatch ? kUsualBatch : kSmallBatch;
}

/// The options for training from scratch, for a classifier of the zoo and for a detector.
std::vector<std::pair<std::string, std::string>> recipe(const ChoiceFacts& facts, const std::string& model) {
  std::vector<std::pair<std::string, std::string>> options;
  if (facts.has_boxes) {
    options.emplace_back("--augment", "flip,iou-crop");
  } else if (facts.network.empty()) {
    // adamw: on the silhouettes and the digits it was more accurate after the same epochs than sgd at any rate that was
    // tried.
    options = {{"--optimizer", "adamw"}, {"--lr", "0.001"}, {"--schedule", "cosine"}};
    // Photos may be mirrored for augmentation; letters and digits may not, and these are mostly grey images.
    if (!model.starts_with("mlp:") && facts.image.channels == 3) options.emplace_back("--augment", "flip,crop:4");
  }
  if (facts.has_fast_bf16) options.emplace_back("--precision", "bf16");
  return options;
}

/// Fills in what the network costs, with the largest batch, up to the usual one, that memory has room for.
void cost(Candidate& candidate, const ChoiceFacts& facts) {
  const data::ImageShape shape{facts.image.channels, candidate.size.height, candidate.size.width};
  const network::Network network = network::build(
      candidate.model,
      {network::Shape{shape.channels, shape.height, shape.width}, std::max<std::int64_t>(1, facts.classes)});
  candidate.macs = static_cast<double>(network::forward_macs(network));
  engine::TrainerOptions trainer;
  trainer.precision = facts.has_fast_bf16 ? Precision::kBf16 : Precision::kFp32;
  trainer.optimizer.kind = engine::OptimizerKind::kAdamW;  // keeps the most
  const double room = kMemoryShare * static_cast<double>(facts.free_bytes);
  for (candidate.batch = usual_batch(facts);; candidate.batch /= 2) {
    task::TrainingWork work;
    work.engine = candidate.model.starts_with("mlp:") ? "native" : "torch";
    work.trainer = trainer;
    work.image = shape;
    work.images = facts.images;
    work.train_images = std::max<std::size_t>(1, facts.train_images);
    work.batch = candidate.batch;
    work.threads = facts.cores;
    work.images_are_loaded = false;
    task::MemoryEstimate estimate = task::estimated_memory(network, work);
    // Images that memory has no room for are decoded again in each epoch.
    estimate.image_bytes = std::min(estimate.image_bytes, facts.free_bytes / 2);
    candidate.bytes = estimate.total_bytes();
    const auto needed = static_cast<double>(candidate.bytes - estimate.image_bytes);
    if (needed <= room) return;
    if (candidate.batch <= 4 || facts.batch > 0) break;
  }
  candidate.refusal =
      fmt::format("takes about {} of memory, and {} are free", bytes_text(static_cast<std::uint64_t>(candidate.bytes)),
                  bytes_text(static_cast<std::uint64_t>(facts.free_bytes)));
}

void refuse_small_boxes(std::vector<Candidate>& candidates, const ChoiceFacts& facts) {
  if (!facts.box_side) return;
  for (std::size_t i = 0; i + 1 < candidates.size(); ++i) {
    Candidate& candidate = candidates[i];
    const double pixels = *facts.box_side * static_cast<double>(std::max(candidate.size.width, candidate.size.height));
    if (pixels >= kFewestBoxPixels || !candidate.refusal.empty()) continue;
    candidate.refusal = fmt::format("boxes of a class would be {:.0f} pixels small", pixels);
  }
}

}  // namespace

std::string Candidate::text() const {
  return fmt::format("{} at {}x{}", model, size.width, size.height);
}

std::vector<Candidate> candidates_for(const ChoiceFacts& facts) {
  std::vector<Candidate> candidates;
  for (Sketch& sketch : sketches_for(facts)) {
    Candidate candidate;
    candidate.model = sketch.model;
    candidate.size = sketch.size;
    candidate.options = recipe(facts, sketch.model);
    cost(candidate, facts);
    candidates.push_back(std::move(candidate));
  }
  std::ranges::stable_sort(candidates, {}, &Candidate::macs);
  refuse_small_boxes(candidates, facts);
  if (std::ranges::none_of(candidates, [](const Candidate& each) { return each.refusal.empty(); })) {
    throw UsageError(fmt::format("no network could be chosen: {} {}; give --size with less", candidates.front().text(),
                                 candidates.front().refusal));
  }
  return candidates;
}

}  // namespace evener::job
