// Data drawn by the program: samples are drawn when they are first read, and kept in memory as far as they fit.
#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/phase.h"
#include "base/random.h"
#include "data/sources/drawings.h"
#include "data/sources/loaded_images.h"
#include "data/sources/shapes.h"
#include "data/sources/source.h"

namespace evener::data {

namespace {

/// Draws an image of a class as one plane. `random` has the numbers of the sample.
using Draw = void (*)(std::int32_t label, Random random, std::int64_t width, std::int64_t height,
                      std::span<std::uint8_t> pixels);

struct SyntheticKind {
  std::string name;
  std::vector<std::string> classes;
  ImageShape shape;     // unless asked otherwise
  std::size_t samples;  // unless asked otherwise
  Draw draw;            // an image of one class; null: shapes, which have boxes
};

const std::array<SyntheticKind, 3>& kinds() {
  static const std::array<SyntheticKind, 3> all = {{
      {"masks", fish_names(), {1, kFishHeight, kFishWidth}, 9000, draw_fish},
      {"digits",
       {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
       {1, kDigitExtent, kDigitExtent},
       12000,
       draw_digit},
      {"shapes", shape_names(), {3, kShapesExtent, kShapesExtent}, 2000, nullptr},
  }};
  return all;
}

/// The common part of generated datasets with classes or boxes.
template <class Base>
class Drawn : public Base {
 public:
  Drawn(const SyntheticKind& kind, std::size_t samples, const ImageShape& shape, const DataOptions& options)
      : kind_(kind),
        samples_(samples),
        shape_(shape),
        seed_(options.seed),
        cache_(samples, shape.bytes(), options.cache_limit_bytes) {}

  std::size_t size() const override { return samples_; }
  ImageShape shape() const override { return shape_; }
  const std::vector<std::string>& classes() const override { return kind_.classes; }
  std::string source(std::size_t index) const override { return "synth:" + kind_.name + "#" + std::to_string(index); }

  const std::uint8_t* pixels(std::size_t index) const override { return cache_.find(index); }
  void read(std::size_t index, std::span<std::uint8_t> chw) const override {
    if (cache_.load(index, chw)) return;
    const PhaseMark mark(Phase::kDecode);
    draw(index, chw);
    cache_.store(index, chw);
  }

 protected:
  virtual void draw(std::size_t index, std::span<std::uint8_t> chw) const = 0;
  const SyntheticKind& kind() const { return kind_; }
  /// The random numbers of a sample.
  Random random(std::size_t index) const { return {seed_, Purpose::kSynthetic, hash_text(kind_.name), index}; }

 private:
  const SyntheticKind& kind_;
  std::size_t samples_;
  ImageShape shape_;
  std::uint64_t seed_;
  mutable PixelCache cache_;
};

/// Sample i is of class i modulo the number of classes.
class DrawnClasses : public Drawn<ClassDataset> {
 public:
  using Drawn::Drawn;

  std::int32_t label(std::size_t index) const override {
    return static_cast<std::int32_t>(index % kind().classes.size());
  }

 protected:
  void draw(std::size_t index, std::span<std::uint8_t> chw) const override {
    const ImageShape shape = this->shape();
    const auto plane = static_cast<std::size_t>(shape.height * shape.width);
    kind().draw(label(index), random(index), shape.width, shape.height, chw.first(plane));
    for (std::size_t c = 1; c < static_cast<std::size_t>(shape.channels); ++c) {
      std::copy_n(chw.begin(), plane, chw.subspan(c * plane).begin());
    }
  }
};

class DrawnShapes : public Drawn<Dataset> {
 public:
  using Drawn::Drawn;

  TargetKind target_kind() const override { return TargetKind::kBoxes; }
  SampleTargets targets(std::size_t index) const override {
    std::vector<LabelledBox> boxes;
    for (const PlacedShape& placed : lay_out_shapes(random(index), shape().width, shape().height)) {
      boxes.push_back(placed.box);
    }
    return boxes;
  }

 protected:
  void draw(std::size_t index, std::span<std::uint8_t> chw) const override { draw_shapes(random(index), shape(), chw); }
};

const SyntheticKind& kind_named(const std::string& name) {
  std::vector<std::string> known;
  for (const SyntheticKind& kind : kinds()) {
    if (kind.name == name) return kind;
    known.push_back(kind.name);
  }
  throw UsageError(unknown_name_message("synthetic data", name, known));
}

std::size_t sample_count(const std::string& text, const SyntheticKind& kind) {
  constexpr std::size_t kMaxSamples = 100'000'000;
  const auto count = to_number<std::size_t>(text).value_or(0);
  if (count < kind.classes.size() || count > kMaxSamples) {
    throw UsageError("impossible number of samples '" + text + "' in 'synth:" + kind.name + ":" + text +
                     "': a whole number from " + std::to_string(kind.classes.size()) + " (one per class) to " +
                     std::to_string(kMaxSamples) + " is expected");
  }
  return count;
}

}  // namespace

Source open_synthetic(const std::string& name, const DataOptions& options) {
  const std::size_t colon = name.find(':');
  const SyntheticKind& kind = kind_named(name.substr(0, colon));
  const std::size_t samples = colon == std::string::npos ? kind.samples : sample_count(name.substr(colon + 1), kind);
  const ImageShape shape{options.channels.value_or(kind.shape.channels), options.height.value_or(kind.shape.height),
                         options.width.value_or(kind.shape.width)};
  Source source;
  source.kind = "synthetic";
  if (kind.draw != nullptr) {
    source.dataset = std::make_shared<DrawnClasses>(kind, samples, shape, options);
  } else {
    source.dataset = std::make_shared<DrawnShapes>(kind, samples, shape, options);
  }
  source.parts.assign(samples, Part::kUndivided);
  return source;
}

}  // namespace evener::data
