#include "data/mosaic.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/random.h"
#include "data/boxes.h"
#include "data/resize.h"

namespace evener::data {

namespace {

/// The place of a scaled image on the mosaic, and the corner of the mosaic that it fills.
struct Place {
  std::int64_t width = 0, height = 0;  // of the scaled image
  std::int64_t left = 0, top = 0;      // of it; may be negative
  std::int64_t x_begin = 0, x_end = 0, y_begin = 0, y_end = 0;
};

Place place_of(const Mosaic& mosaic, std::size_t corner, const ImageShape& shape) {
  const auto centre = [](double share, std::int64_t extent) {
    return std::clamp<std::int64_t>(std::llround(share * static_cast<double>(extent)), 0, extent);
  };
  const std::int64_t x = centre(mosaic.centre_x, shape.width), y = centre(mosaic.centre_y, shape.height);
  const bool is_right = corner % 2 == 1, is_lower = corner >= 2;
  Place place;
  place.x_begin = is_right ? x : 0, place.x_end = is_right ? shape.width : x;
  place.y_begin = is_lower ? y : 0, place.y_end = is_lower ? shape.height : y;
  const double scale = std::max({mosaic.scales[corner],
                                 static_cast<double>(place.x_end - place.x_begin) / static_cast<double>(shape.width),
                                 static_cast<double>(place.y_end - place.y_begin) / static_cast<double>(shape.height)});
  const auto scaled = [scale](std::int64_t extent) {
    return std::max<std::int64_t>(static_cast<std::int64_t>(std::ceil(scale * static_cast<double>(extent) - 1e-9)), 1);
  };
  place.width = scaled(shape.width), place.height = scaled(shape.height);
  place.left = is_right ? x : x - place.width;
  place.top = is_lower ? y : y - place.height;
  return place;
}

}  // namespace

bool draw_mosaic(double share, std::span<const std::uint32_t> partners, std::uint64_t seed, std::uint64_t epoch,
                 std::uint32_t sample, Mosaic& mosaic) {
  constexpr double kLeastScale = 0.5;
  Random random(seed, Purpose::kMixup, epoch, sample);
  if (random.uniform() >= share) return false;
  mosaic.centre_x = random.uniform(0.3, 0.7);
  mosaic.centre_y = random.uniform(0.3, 0.7);
  for (double& scale : mosaic.scales) scale = random.uniform(kLeastScale, 1);
  for (std::uint32_t& each : mosaic.samples) each = partners[random.below(partners.size())];
  mosaic.samples[random.below(mosaic.samples.size())] = sample;
  return true;
}

void paste_into_mosaic(const Mosaic& mosaic, std::size_t corner, const ImageShape& shape,
                       std::span<const std::uint8_t> image, std::span<std::uint8_t> chw) {
  const Place place = place_of(mosaic, corner, shape);
  const auto plane = static_cast<std::size_t>(shape.height * shape.width);
  for (std::size_t c = 0; c < static_cast<std::size_t>(shape.channels); ++c) {
    Picture channel = Picture::unset(1, shape.height, shape.width);
    std::memcpy(channel.pixels.get(), image.data() + c * plane, plane);
    const Picture scaled = resize(std::move(channel), place.height, place.width);
    for (std::int64_t y = place.y_begin; y < place.y_end; ++y) {
      std::memcpy(chw.data() + c * plane + static_cast<std::size_t>(y * shape.width + place.x_begin),
                  scaled.row(y - place.top) + (place.x_begin - place.left),
                  static_cast<std::size_t>(place.x_end - place.x_begin));
    }
  }
}

void add_to_mosaic(const Mosaic& mosaic, std::size_t corner, const ImageShape& shape,
                   std::span<const LabelledBox> boxes, std::vector<LabelledBox>& all) {
  constexpr float kLeastVisible = 0.1F;
  const Place place = place_of(mosaic, corner, shape);
  const float wider = static_cast<float>(place.width) / static_cast<float>(shape.width);
  const float higher = static_cast<float>(place.height) / static_cast<float>(shape.height);
  LabelledBox own;
  own.x1 = static_cast<float>(place.x_begin), own.x2 = static_cast<float>(place.x_end);
  own.y1 = static_cast<float>(place.y_begin), own.y2 = static_cast<float>(place.y_end);
  for (LabelledBox box : boxes) {
    box.x1 = box.x1 * wider + static_cast<float>(place.left), box.x2 = box.x2 * wider + static_cast<float>(place.left);
    box.y1 = box.y1 * higher + static_cast<float>(place.top), box.y2 = box.y2 * higher + static_cast<float>(place.top);
    const float whole = box_area(box);
    box.x1 = std::clamp(box.x1, own.x1, own.x2), box.x2 = std::clamp(box.x2, own.x1, own.x2);
    box.y1 = std::clamp(box.y1, own.y1, own.y2), box.y2 = std::clamp(box.y2, own.y1, own.y2);
    if (has_area(box) && box_area(box) >= kLeastVisible * whole) all.push_back(box);
  }
}

}  // namespace evener::data
