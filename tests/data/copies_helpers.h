// Images made of each other by what people do to photos, computed apart from the code that finds them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "data/dataset.h"

namespace evener::data::test {

/// Pixels as a function of a place, from 0 to 1 down and to the right, and of a channel.
using Scene = std::function<double(double down, double right, std::size_t channel)>;

/// Each pixel is the mean over 2x2 places in it.
inline std::vector<std::uint8_t> drawn(const Scene& scene, const ImageShape& shape) {
  std::vector<std::uint8_t> pixels;
  for (std::int64_t c = 0; c < shape.channels; ++c) {
    for (std::int64_t y = 0; y < shape.height; ++y) {
      for (std::int64_t x = 0; x < shape.width; ++x) {
        double sum = 0;
        for (int i = 0; i < 4; ++i) {
          const double down = static_cast<double>(y) + (i / 2 + 0.5) / 2,
                       right = static_cast<double>(x) + (i % 2 + 0.5) / 2;
          sum += scene(down / static_cast<double>(shape.height), right / static_cast<double>(shape.width),
                       static_cast<std::size_t>(c));
        }
        pixels.push_back(static_cast<std::uint8_t>(std::lround(std::clamp(sum / 4, 0.0, 255.0))));
      }
    }
  }
  return pixels;
}

/// Pixels (C, side, side) as a scene, linear between them.
inline Scene scene_of(std::vector<std::uint8_t> chw, std::size_t side) {
  return [chw = std::move(chw), side](double down, double right, std::size_t channel) {
    const double last = static_cast<double>(side) - 1.001;
    const double y = std::clamp(down * static_cast<double>(side) - 0.5, 0.0, last);
    const double x = std::clamp(right * static_cast<double>(side) - 0.5, 0.0, last);
    const auto row = static_cast<std::size_t>(y), column = static_cast<std::size_t>(x);
    const double v = y - static_cast<double>(row), h = x - static_cast<double>(column);
    const std::uint8_t* const at = &chw[(channel * side + row) * side + column];
    return (1 - v) * ((1 - h) * at[0] + h * at[1]) + v * ((1 - h) * at[side] + h * at[side + 1]);
  };
}

/// Sixty blots of other sizes, places and colours, and a slope.
inline Scene blots(std::uint64_t number) {
  constexpr std::size_t kSide = 200;
  Random random(7, Purpose::kSynthetic, number);
  const double slope = random.uniform(-60, 60);
  std::vector<double> values;
  for (std::size_t i = 0; i < 3 * kSide * kSide; ++i) {
    const auto down = static_cast<double>(i / kSide % kSide), right = static_cast<double>(i % kSide);
    values.push_back(115 + slope * (down - right) / kSide);
  }
  for (int i = 0; i < 60; ++i) {
    const double top = random.uniform() * kSide, left = random.uniform() * kSide,
                 radius = random.uniform(0.02, 0.2) * kSide;
    for (std::size_t c = 0; c < 3; ++c) {
      const double colour = random.uniform(-90, 90);
      for (std::size_t y = 0; y < kSide; ++y) {
        for (std::size_t x = 0; x < kSide; ++x) {
          const double down = static_cast<double>(y) - top, right = static_cast<double>(x) - left;
          if (down * down + right * right < radius * radius) values[(c * kSide + y) * kSide + x] += colour;
        }
      }
    }
  }
  std::vector<std::uint8_t> pixels;
  for (const double value : values) pixels.push_back(static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0)));
  return scene_of(std::move(pixels), kSide);
}

inline Scene mirrored(const Scene& scene) {
  return [scene](double down, double right, std::size_t c) { return scene(down, 1 - right, c); };
}
inline Scene top_to_bottom(const Scene& scene) {
  return [scene](double down, double right, std::size_t c) { return scene(1 - down, right, c); };
}
inline Scene turned_right(const Scene& scene) {  // what was at the left is at the top
  return [scene](double down, double right, std::size_t c) { return scene(1 - right, down, c); };
}
inline Scene turned_left(const Scene& scene) {
  return turned_right(turned_right(turned_right(scene)));
}
/// That share of the sides is cut off at each border.
inline Scene cropped(const Scene& scene, double share) {
  return [=](double down, double right, std::size_t c) {
    return scene(share + down * (1 - 2 * share), share + right * (1 - 2 * share), c);
  };
}
inline Scene times(const Scene& scene, double factor) {
  return [=](double down, double right, std::size_t c) { return std::min(255.0, factor * scene(down, right, c)); };
}

/// Images in memory.
class DrawnImages : public ClassDataset {
 public:
  DrawnImages(const ImageShape& shape, const std::vector<Scene>& scenes) : shape_(shape) {
    for (const Scene& scene : scenes) images_.push_back(drawn(scene, shape));
  }

  std::size_t size() const override { return images_.size(); }
  ImageShape shape() const override { return shape_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int32_t label(std::size_t index) const override { return static_cast<std::int32_t>(index % 2); }
  void read(std::size_t index, std::span<std::uint8_t> chw) const override {
    std::ranges::copy(images_[index], chw.begin());
  }
  const std::uint8_t* pixels(std::size_t index) const override { return images_[index].data(); }
  std::string source(std::size_t index) const override { return "#" + std::to_string(index); }

 private:
  ImageShape shape_;
  std::vector<std::vector<std::uint8_t>> images_;
  std::vector<std::string> classes_ = {"a", "b"};
};

}  // namespace evener::data::test
