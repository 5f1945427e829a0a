#include "train/steps/blank_images.h"

#include <algorithm>
#include <cstdint>

#include "base/random.h"
#include "detect/decoders/boxes.h"
#include "detect/decoders/detection.h"
#include "engine/trainer.h"

namespace evener::training {
namespace {

constexpr float kSamePlace = 0.6F;  // of the union of two boxes
constexpr float kAsLikely = 0.5F;   // as the photo's box

using Pixels = std::vector<std::uint8_t>;

bool is_found(const detection::Detection& box, const std::vector<detection::Detection>& among) {
  return std::ranges::any_of(among, [&](const detection::Detection& other) {
    return other.label == box.label && other.score >= kAsLikely * box.score &&
           detection::intersection_over_union(other, box) >= kSamePlace;
  });
}

Pixels noise(std::size_t values) {
  Random random(1, Purpose::kSynthetic);
  Pixels pixels(values);
  for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(random.below(256));
  return pixels;
}

/// Brighter from left to right: neither flat nor with anything on it.
Pixels slope(const data::ImageShape& shape) {
  Pixels pixels(shape.bytes());
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const auto column = static_cast<std::int64_t>(i) % shape.width;
    pixels[i] = static_cast<std::uint8_t>(255 * column / std::max<std::int64_t>(1, shape.width - 1));
  }
  return pixels;
}

}  // namespace

std::optional<double> share_found_in_blank(std::span<const std::vector<detection::Detection>> photos,
                                           std::span<const std::vector<detection::Detection>> blanks) {
  std::size_t judged = 0, same = 0;
  for (const std::vector<detection::Detection>& photo : photos) {
    if (photo.empty()) continue;
    const auto seen = std::ranges::count_if(blanks, [&](const auto& blank) { return is_found(photo.front(), blank); });
    ++judged;
    same += 2 * static_cast<std::size_t>(seen) > blanks.size();
  }
  if (judged == 0) return std::nullopt;
  return static_cast<double>(same) / static_cast<double>(judged);
}

std::optional<double> share_found_in_blank(engine::Trainer& trainer, const network::Network& network,
                                           const data::Batch& photos) {
  engine::DetectsObjects* const detector = trainer.capabilities().detector;
  if (detector == nullptr || photos.images.empty() || photos.count == 0) return std::nullopt;
  const detection::OutputBoxes boxes(network, {.confidence = 0.01F});
  std::vector<HostTensor> outputs;
  detector->evaluate_outputs(photos, outputs);
  std::vector<std::vector<detection::Detection>> on_photos, on_blanks;
  for (std::int64_t i = 0; i < photos.count; ++i) {
    on_photos.push_back(boxes.found(outputs, static_cast<std::size_t>(i)));
  }
  const auto values = photos.shape.bytes();
  data::Batch blank = data::part_of(photos, 0, 1);  // its targets are for losses, which nobody reads
  for (const Pixels& pixels :
       {Pixels(values, 0), Pixels(values, 128), Pixels(values, 255), slope(photos.shape), noise(values)}) {
    blank.images = pixels;
    detector->evaluate_outputs(blank, outputs);
    on_blanks.push_back(boxes.found(outputs, 0));
  }
  return share_found_in_blank(on_photos, on_blanks);
}

}  // namespace evener::training
