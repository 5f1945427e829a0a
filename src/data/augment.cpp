#include "data/augment.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/random.h"
#include "data/codecs/colour.h"
#include "data/resize.h"

namespace evener::data {

namespace {

/// The random numbers of a sample, all drawn whatever is asked for: switching one change on leaves the others alone.
struct Draw {
  double area, ratio, left, top;  // of the resized crop
  double right, down;             // of the shift
  double flip;
  double brightness, contrast, saturation;

  explicit Draw(Random random)
      : area(random.uniform()),
        ratio(random.uniform()),
        left(random.uniform()),
        top(random.uniform()),
        right(random.uniform()),
        down(random.uniform()),
        flip(random.uniform()),
        brightness(random.uniform(-1, 1)),
        contrast(random.uniform(-1, 1)),
        saturation(random.uniform(-1, 1)) {}
};

/// From 0 to `most`, all equally probable. `uniform` in [0, 1).
std::int64_t whole(double uniform, std::int64_t most) {
  return static_cast<std::int64_t>(uniform * static_cast<double>(most + 1));
}

/// A part of the image of a random area and shape (3:4 to 4:3 of its own), brought back to its size.
void resized_crop(const Draw& draw, double least_area, const ImageShape& shape, std::span<std::uint8_t> chw) {
  const double scale = std::sqrt(least_area + (1 - least_area) * draw.area);
  const double stretch = std::exp((draw.ratio - 0.5) * std::log(4.0 / 3.0));  // of the width; the height gets 1 / it
  const auto extent = [](std::int64_t whole_extent, double part) {
    const double wanted = std::round(static_cast<double>(whole_extent) * part);
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(wanted), 1, whole_extent);
  };
  const std::int64_t width = extent(shape.width, scale * stretch), height = extent(shape.height, scale / stretch);
  const std::int64_t left = whole(draw.left, shape.width - width), top = whole(draw.top, shape.height - height);
  const auto plane = static_cast<std::size_t>(shape.height * shape.width);
  for (std::int64_t c = 0; c < shape.channels; ++c) {
    std::uint8_t* pixels = chw.data() + static_cast<std::size_t>(c) * plane;
    Picture part = Picture::unset(1, height, width);
    for (std::int64_t y = 0; y < height; ++y) {
      std::memcpy(part.row(y), pixels + (top + y) * shape.width + left, static_cast<std::size_t>(width));
    }
    const Picture whole_again = resize(std::move(part), shape.height, shape.width);
    std::memcpy(pixels, whole_again.pixels.get(), plane);
  }
}

/// Moves the image by (right, down) pixels; what comes in is black.
void shift(std::int64_t right, std::int64_t down, const ImageShape& shape, std::span<std::uint8_t> chw) {
  if (right == 0 && down == 0) return;
  const std::int64_t kept = std::max<std::int64_t>(shape.width - std::abs(right), 0);
  std::vector<std::uint8_t> before(static_cast<std::size_t>(shape.height * shape.width));
  for (std::int64_t c = 0; c < shape.channels; ++c) {
    std::uint8_t* pixels = chw.data() + static_cast<std::size_t>(c) * before.size();
    std::memcpy(before.data(), pixels, before.size());
    std::memset(pixels, 0, before.size());
    for (std::int64_t y = std::max<std::int64_t>(down, 0); y < std::min(shape.height, shape.height + down); ++y) {
      const std::uint8_t* from = before.data() + (y - down) * shape.width + std::max<std::int64_t>(-right, 0);
      std::memcpy(pixels + y * shape.width + std::max<std::int64_t>(right, 0), from, static_cast<std::size_t>(kept));
    }
  }
}

void mirror(const ImageShape& shape, std::span<std::uint8_t> chw) {
  for (std::int64_t row = 0; row < shape.channels * shape.height; ++row) {
    std::uint8_t* pixels = chw.data() + row * shape.width;
    std::reverse(pixels, pixels + shape.width);
  }
}

std::uint8_t rounded(float value) {
  return static_cast<std::uint8_t>(std::clamp(value, 0.0F, 255.0F) + 0.5F);
}

float luma_of(const std::uint8_t* chw, std::size_t i, std::size_t plane, bool is_grey) {
  if (is_grey) return chw[i];
  return 0.299F * chw[i] + 0.587F * chw[plane + i] + 0.114F * chw[2 * plane + i];
}

/// Brightness scales all values, contrast their distance from the mean luma, saturation that from the pixel's luma. All
/// three are linear, so there is one factor for the value, one for its luma, and a constant.
void jitter(const Draw& draw, double strength, const ImageShape& shape, std::span<std::uint8_t> chw) {
  const auto plane = static_cast<std::size_t>(shape.height * shape.width);
  const bool is_grey = shape.channels == 1;
  double luma_sum = 0;
  for (std::size_t i = 0; i < plane; ++i) luma_sum += luma_of(chw.data(), i, plane, is_grey);
  const auto brightness = static_cast<float>(1 + strength * draw.brightness);
  const auto contrast = static_cast<float>(1 + strength * draw.contrast);
  const float saturation = is_grey ? 1.0F : static_cast<float>(1 + strength * draw.saturation);
  const float mean = brightness * static_cast<float>(luma_sum / static_cast<double>(plane));
  const float of_value = brightness * contrast * saturation, of_luma = brightness * contrast * (1 - saturation);
  const float constant = mean * (1 - contrast);
  for (std::size_t i = 0; i < plane; ++i) {
    const float shared = of_luma * luma_of(chw.data(), i, plane, is_grey) + constant;
    for (std::size_t c = 0; c < static_cast<std::size_t>(shape.channels); ++c) {
      std::uint8_t& value = chw[c * plane + i];
      value = rounded(of_value * static_cast<float>(value) + shared);
    }
  }
}

/// Beta(alpha, alpha) by Joehnk's method (1964): the share of the first of two powers whose sum is at most 1.
double beta(double alpha, Random& random) {
  while (true) {
    const double u = 1 - random.uniform(), v = 1 - random.uniform();  // in (0, 1]
    const double x = std::pow(u, 1 / alpha), y = std::pow(v, 1 / alpha);
    if (x + y > 1) continue;
    if (x + y > 0) return x / (x + y);
    return u > v ? 1 : 0;  // both powers are too small for a double
  }
}

}  // namespace

void augment_image(const AugmentOptions& options, const ImageShape& shape, std::uint64_t seed, std::uint64_t epoch,
                   std::uint32_t sample, std::span<std::uint8_t> chw) {
  const Draw draw(Random(seed, Purpose::kAugment, epoch, sample));
  if (options.least_area > 0) resized_crop(draw, options.least_area, shape, chw);
  if (options.crop_padding > 0) {
    const std::int64_t most = options.crop_padding;
    shift(whole(draw.right, 2 * most) - most, whole(draw.down, 2 * most) - most, shape, chw);
  }
  if (options.flip && draw.flip < 0.5) mirror(shape, chw);
  if (options.colour > 0) jitter(draw, options.colour, shape, chw);
}

Mixture draw_mixture(double alpha, std::span<const std::uint32_t> partners, std::uint64_t seed, std::uint64_t epoch,
                     std::uint32_t sample) {
  Random random(seed, Purpose::kMixup, epoch, sample);
  const std::uint32_t partner = partners[random.below(partners.size())];
  const double weight = beta(alpha, random);
  return {partner, static_cast<float>(std::max(weight, 1 - weight))};
}

void mix_images(float weight, std::span<const std::uint8_t> other, std::span<std::uint8_t> chw) {
  for (std::size_t i = 0; i < chw.size(); ++i) {
    const float mixed = weight * static_cast<float>(chw[i]) + (1 - weight) * static_cast<float>(other[i]);
    chw[i] = static_cast<std::uint8_t>(mixed + 0.5F);
  }
}

}  // namespace evener::data
