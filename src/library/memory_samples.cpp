#include "library/memory_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include "base/tensor.h"
#include "evener/error.h"

namespace evener::library {
namespace {

/// Limits of one extent and of all values together, so that no product of extents overflows.
constexpr std::int64_t kLargestExtent = std::int64_t{1} << 24, kMostValues = std::int64_t{1} << 40;

/// Throws Error for extents that are too large or 0. Only the first, the number of samples, may be 0.
void require_extents(const std::vector<std::int64_t>& shape) {
  std::int64_t values = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t extent = shape[i];
    if (i == 0 && extent == 0) continue;
    if (extent < 1 || extent > kLargestExtent || values > kMostValues / extent) {
      throw Error(fmt::format("an array of shape {} can't be samples: extents go from 1 to {}, of at most {} values",
                              shape_text(shape), kLargestExtent, kMostValues));
    }
    values *= extent;
  }
}

class PictureSpanSamples : public data::Samples {
 public:
  PictureSpanSamples(const PictureSpan& pictures, const data::Preprocessing& steps)
      : pictures_(pictures),
        steps_(steps),
        shape_{steps.shape.channels, steps.shape.height, steps.shape.width},
        each_(static_cast<std::size_t>(pictures.height * pictures.width * pictures.channels)) {}

  std::size_t size() const override { return static_cast<std::size_t>(pictures_.count); }
  const std::vector<std::int64_t>& shape() const override { return shape_; }
  bool is_bytes() const override { return true; }
  std::string name(std::size_t index) const override { return fmt::format("#{}", index); }
  void read(std::size_t index, std::span<std::uint8_t> values) const override {
    data::Picture picture = data::Picture::unset(pictures_.channels, pictures_.height, pictures_.width);
    std::memcpy(picture.pixels.get(), pictures_.pixels + index * each_, each_);
    data::preprocess(std::move(picture), steps_, values);
  }

 private:
  const PictureSpan pictures_;
  const data::Preprocessing steps_;
  const std::vector<std::int64_t> shape_;
  const std::size_t each_;
};

class ValueSamples : public data::Samples {
 public:
  explicit ValueSamples(const SampleSpan& samples)
      : samples_(samples),
        shape_(samples.shape.begin() + 1, samples.shape.end()),
        each_(static_cast<std::size_t>(element_count(shape_))) {}

  std::size_t size() const override { return static_cast<std::size_t>(samples_.shape.front()); }
  const std::vector<std::int64_t>& shape() const override { return shape_; }
  bool is_bytes() const override { return samples_.bytes != nullptr; }
  std::string name(std::size_t index) const override { return fmt::format("#{}", index); }
  void read(std::size_t index, std::span<std::uint8_t> values) const override {
    std::memcpy(values.data(), samples_.bytes + index * each_, each_);
  }
  void read(std::size_t index, std::span<float> values) const override {
    std::memcpy(values.data(), samples_.floats + index * each_, each_ * sizeof(float));
  }

 private:
  const SampleSpan samples_;
  const std::vector<std::int64_t> shape_;
  const std::size_t each_;
};

}  // namespace

std::unique_ptr<data::Samples> picture_span_samples(const PictureSpan& pictures, const data::Preprocessing& steps) {
  require_extents({pictures.count, pictures.height, pictures.width, pictures.channels});
  if (pictures.pixels == nullptr && pictures.count > 0) throw Error("the pictures' pixels are a null pointer");
  if (pictures.channels != 1 && pictures.channels != 3) {
    throw Error(fmt::format("pictures have 1 channel (grey) or 3 (RGB), not {}", pictures.channels));
  }
  return std::make_unique<PictureSpanSamples>(pictures, steps);
}

std::unique_ptr<data::Samples> value_samples(const SampleSpan& samples) {
  require_extents(samples.shape);
  if (samples.shape.size() < 2) {
    throw Error(
        fmt::format("samples have a shape of their own behind their count, but this is {}", shape_text(samples.shape)));
  }
  const bool has_both = samples.bytes != nullptr && samples.floats != nullptr;
  const bool lacks_both = samples.bytes == nullptr && samples.floats == nullptr && samples.shape.front() > 0;
  if (has_both || lacks_both) {
    throw Error("samples are either bytes or floats: one of the two pointers is set");
  }
  return std::make_unique<ValueSamples>(samples);
}

}  // namespace evener::library
