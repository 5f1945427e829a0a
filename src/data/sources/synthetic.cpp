// Data drawn by the program: samples are drawn when they are first read, and kept in memory as far as they fit.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/phase.h"
#include "base/random.h"
#include "data/boxes.h"
#include "data/sources/drawings.h"
#include "data/sources/loaded_images.h"
#include "data/sources/shapes.h"
#include "data/sources/source.h"

namespace evener::data {

namespace {

using std::numbers::pi;
using Colour = std::array<double, 3>;

constexpr double kSmallest = 18, kLargest = 60;  // widths, on a canvas of kShapesExtent
constexpr double kMostBeyond = 0.2;              // of a shape's width or height that may lie outside of the picture
constexpr float kMostOverlap = 0.2F;             // intersection over union of two boxes

enum Kind : std::int32_t { kCircle, kSquare, kTriangle };

double luma(const Colour& colour) {
  return 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2];
}

/// The picture behind the shapes: two colours that change into each other along a direction.
struct Background {
  Colour from{}, to{};
  double angle = 0, noise = 0;

  explicit Background(Random& random) {
    const double brightness = random.uniform(60, 190);
    for (std::size_t c = 0; c < 3; ++c) {
      from[c] = brightness + random.uniform(-30, 30);
      to[c] = brightness + random.uniform(-30, 30);
    }
    angle = random.uniform(0, 2 * pi);
    noise = random.uniform(5, 30);
  }
  double middle_luma() const { return (luma(from) + luma(to)) / 2; }
};

/// A colour that stands out from the background by its luma, so that grey pictures show it too.
Colour colour_on(double background_luma, Random& random) {
  Colour colour{};
  do {
    for (double& channel : colour) channel = random.uniform(0, 255);
  } while (std::abs(luma(colour) - background_luma) < 50);
  return colour;
}

/// An outline around (0, 0), about one unit wide and high.
std::vector<Point> outline_of(std::int32_t kind, Random& random) {
  const double stretch = random.uniform(0.85, 1.15), turn = random.uniform(-0.25, 0.25);
  const int corners = kind == kCircle ? 48 : kind == kSquare ? 4 : 3;
  const double first = kind == kSquare ? -pi / 4 : -pi / 2;  // a square lies on a side, a triangle points upwards
  const double radius = kind == kSquare ? std::numbers::sqrt2 / 2 : kind == kTriangle ? 0.58 : 0.5;
  std::vector<Point> outline;
  for (int i = 0; i < corners; ++i) {
    const double angle = first + 2 * pi * i / corners;
    const double x = radius * stretch * std::cos(angle), y = radius / stretch * std::sin(angle);
    outline.push_back({x * std::cos(turn) - y * std::sin(turn), x * std::sin(turn) + y * std::cos(turn)});
  }
  return outline;
}

struct Extent {
  Point low, high;
};

Extent extent_of(const std::vector<Point>& outline) {
  Extent extent{outline.front(), outline.front()};
  for (const Point& point : outline) {
    extent.low = {std::min(extent.low.x, point.x), std::min(extent.low.y, point.y)};
    extent.high = {std::max(extent.high.x, point.x), std::max(extent.high.y, point.y)};
  }
  return extent;
}

/// Moves an outline to where a part of it may lie beyond the edges of a square canvas.
void place(std::vector<Point>& outline, Random& random) {
  const Extent extent = extent_of(outline);
  const auto shift = [&random](double low, double high) {
    const double size = high - low, beyond = kMostBeyond * size;
    return random.uniform(-beyond, kShapesExtent - size + beyond) - low;
  };
  const double right = shift(extent.low.x, extent.high.x), down = shift(extent.low.y, extent.high.y);
  for (Point& point : outline) point = {point.x + right, point.y + down};
}

/// What of a convex outline has low <= coordinate <= high: Sutherland and Hodgman's clipping, along one axis.
std::vector<Point> clipped(const std::vector<Point>& outline, double Point::*axis, double low, double high) {
  std::vector<Point> inside;
  for (std::size_t i = 0; i < outline.size(); ++i) {
    const Point &from = outline[i], &to = outline[(i + 1) % outline.size()];
    const auto cross_at = [&](double edge) {
      if ((from.*axis < edge) == (to.*axis < edge)) return;
      const double t = (edge - from.*axis) / (to.*axis - from.*axis);
      inside.push_back({from.x + t * (to.x - from.x), from.y + t * (to.y - from.y)});
    };
    if (from.*axis >= low && from.*axis <= high) inside.push_back(from);
    cross_at(from.*axis < to.*axis ? low : high);
    cross_at(from.*axis < to.*axis ? high : low);
  }
  return inside;
}

/// The box of an outline on a picture of that size. Most of it is on the picture.
LabelledBox box_of(const std::vector<Point>& outline, std::int32_t label, double width, double height) {
  const auto [low, high] = extent_of(clipped(clipped(outline, &Point::x, 0, width), &Point::y, 0, height));
  const Extent whole = extent_of(outline);
  LabelledBox box;
  // Where an edge cuts, rounding may leave the crossing a little beyond it.
  box.x1 = static_cast<float>(std::max(low.x, 0.0)), box.x2 = static_cast<float>(std::min(high.x, width));
  box.y1 = static_cast<float>(std::max(low.y, 0.0)), box.y2 = static_cast<float>(std::min(high.y, height));
  box.label = label;
  box.is_truncated = whole.low.x < 0 || whole.low.y < 0 || whole.high.x > width || whole.high.y > height;
  return box;
}

std::vector<PlacedShape> lay_out(Random& random, const Background& background, std::int64_t width,
                                 std::int64_t height) {
  constexpr int kTries = 20;
  constexpr std::uint64_t kMost = 6, kEmptyOneIn = 30;
  const std::uint64_t wanted = random.below(kEmptyOneIn) == 0 ? 0 : 1 + random.below(kMost);
  const double scale_x = static_cast<double>(width) / kShapesExtent;
  const double scale_y = static_cast<double>(height) / kShapesExtent;
  std::vector<PlacedShape> shapes;
  for (std::uint64_t i = 0; i < wanted; ++i) {
    const auto label = static_cast<std::int32_t>(random.below(shape_names().size()));
    const Colour colour = colour_on(background.middle_luma(), random);
    // Sizes are distributed evenly on a logarithmic scale.
    const double size = kSmallest * std::pow(kLargest / kSmallest, random.uniform());
    std::vector<Point> form = outline_of(label, random);
    for (Point& point : form) point = {point.x * size, point.y * size};
    for (int attempt = 0; attempt < kTries; ++attempt) {
      std::vector<Point> outline = form;
      place(outline, random);
      for (Point& point : outline) point = {point.x * scale_x, point.y * scale_y};
      const LabelledBox box = box_of(outline, label, static_cast<double>(width), static_cast<double>(height));
      const bool is_free = std::none_of(shapes.begin(), shapes.end(), [&box](const PlacedShape& other) {
        return intersection_over_union(box, other.box) > kMostOverlap;
      });
      if (!is_free) continue;
      shapes.push_back({std::move(outline), colour, box});
      break;
    }
  }
  return shapes;
}

/// Fills a plane with the background's channel.
void paint(const Background& background, std::size_t channel, bool is_grey, const ImageShape& shape,
           std::span<std::uint8_t> plane) {
  const double from = is_grey ? luma(background.from) : background.from[channel];
  const double to = is_grey ? luma(background.to) : background.to[channel];
  const double along_x = std::cos(background.angle), along_y = std::sin(background.angle);
  const double middle_x = static_cast<double>(shape.width) / 2, middle_y = static_cast<double>(shape.height) / 2;
  std::size_t i = 0;
  for (std::int64_t y = 0; y < shape.height; ++y) {
    for (std::int64_t x = 0; x < shape.width; ++x) {
      const double u = (static_cast<double>(x) - middle_x) / middle_x,
                   v = (static_cast<double>(y) - middle_y) / middle_y;
      const double share = std::clamp(0.5 + (u * along_x + v * along_y) / 2, 0.0, 1.0);
      plane[i++] = static_cast<std::uint8_t>(std::clamp(from + (to - from) * share, 0.0, 255.0));
    }
  }
}

void blend(std::span<const std::uint8_t> coverage, double colour, std::span<std::uint8_t> plane) {
  for (std::size_t i = 0; i < plane.size(); ++i) {
    if (coverage[i] == 0) continue;
    const double part = coverage[i] / 255.0;
    plane[i] = static_cast<std::uint8_t>(std::lround(part * colour + (1 - part) * plane[i]));
  }
}

/// Adds to each value a number from -amplitude to amplitude; eight are made of one random number.
void add_noise(Random& random, double amplitude, std::span<std::uint8_t> values) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < values.size(); ++i, bits >>= 8) {
    if (i % 8 == 0) bits = random.next();
    const double offset = (static_cast<double>(bits & 0xFF) - 127.5) / 127.5 * amplitude;
    values[i] = static_cast<std::uint8_t>(std::clamp(std::round(values[i] + offset), 0.0, 255.0));
  }
}

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

const std::vector<std::string>& shape_names() {
  static const std::vector<std::string> names{"circle", "square", "triangle"};
  return names;
}

std::vector<PlacedShape> lay_out_shapes(Random random, std::int64_t width, std::int64_t height) {
  const Background background(random);
  return lay_out(random, background, width, height);
}

void draw_shapes(Random random, const ImageShape& shape, std::span<std::uint8_t> chw) {
  const Background background(random);
  const std::vector<PlacedShape> shapes = lay_out(random, background, shape.width, shape.height);
  const auto plane = static_cast<std::size_t>(shape.height * shape.width);
  const bool is_grey = shape.channels == 1;
  const auto channels = static_cast<std::size_t>(shape.channels);
  for (std::size_t c = 0; c < channels; ++c) paint(background, c, is_grey, shape, chw.subspan(c * plane, plane));
  std::vector<std::uint8_t> coverage(plane);
  for (const PlacedShape& placed : shapes) {
    fill_polygon(placed.outline, shape.width, shape.height, coverage);
    for (std::size_t c = 0; c < channels; ++c) {
      blend(coverage, is_grey ? luma(placed.colour) : placed.colour[c], chw.subspan(c * plane, plane));
    }
  }
  add_noise(random, background.noise, chw);
}

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
