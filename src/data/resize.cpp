#include "data/resize.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "data/opencv_resize.h"
#include "data/resize_kernels.h"

namespace evener::data {

namespace {

constexpr ResizeFilter kFilters[] = {ResizeFilter::kNearest, ResizeFilter::kBilinear, ResizeFilter::kBicubic,
                                     ResizeFilter::kLanczos, ResizeFilter::kOpenCv};

double sinc(double x) {
  if (x == 0) return 1;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

/// The weight of a pixel that lies so far from the middle; beyond support_of() it is 0.
double weight_at(ResizeFilter filter, double distance) {
  switch (filter) {
    case ResizeFilter::kNearest:  // has no weights, see Weights
    case ResizeFilter::kOpenCv:   // has its own
    case ResizeFilter::kBilinear:
      return std::max(0.0, 1.0 - distance);
    case ResizeFilter::kBicubic: {
      constexpr double a = -0.5;
      if (distance < 1) return ((a + 2) * distance - (a + 3)) * distance * distance + 1;
      return distance < 2 ? (((distance - 5) * distance + 8) * distance - 4) * a : 0;
    }
    case ResizeFilter::kLanczos:
      return distance < 3 ? sinc(distance) * sinc(distance / 3) : 0;
  }
  return 0;
}

double support_of(ResizeFilter filter) {
  return filter == ResizeFilter::kLanczos ? 3 : filter == ResizeFilter::kBicubic ? 2 : 1;
}

/// Pixels of a side, from `begin` to before `end`.
struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

/// For each output position its input positions, and their weights.
struct Weights {
  std::vector<WeightSpan> spans;
  std::vector<std::int32_t> weights;

  /// Computes the weights for the outputs in `made`, of `out` in all.
  Weights(std::int64_t in, std::int64_t out, Range made, ResizeFilter filter) {
    const double scale = static_cast<double>(in) / static_cast<double>(out);
    spans.reserve(static_cast<std::size_t>(made.size()));
    for (std::int64_t i = made.begin; i < made.end; ++i) {
      const double center = (static_cast<double>(i) + 0.5) * scale;
      if (filter == ResizeFilter::kNearest || in == out) {
        add(static_cast<std::int64_t>(center), {1});
      } else {
        add_span(in, center, std::max(scale, 1.0), filter);
      }
    }
  }

  /// The inputs that anything is made of.
  Range inputs() const { return {spans.front().first, spans.back().first + spans.back().count}; }
  /// Shifts the spans for a picture that was cropped to inputs().
  void move_to_first_input() {
    const std::int32_t first = spans.front().first;
    for (WeightSpan& span : spans) span.first -= first;
  }

 private:
  /// `stretch`: of the filter, in input pixels.
  void add_span(std::int64_t in, double center, double stretch, ResizeFilter filter) {
    const double support = support_of(filter) * stretch;
    const auto first = static_cast<std::int64_t>(std::max(center - support + 0.5, 0.0));
    const auto end = static_cast<std::int64_t>(std::min(center + support + 0.5, static_cast<double>(in)));
    std::vector<double> raw;
    for (std::int64_t x = first; x < end; ++x) {
      raw.push_back(weight_at(filter, std::abs((static_cast<double>(x) - center + 0.5) * (1.0 / stretch))));
    }
    add(first, raw);
  }

  void add(std::int64_t first, const std::vector<double>& raw) {
    double sum = 0;
    for (const double weight : raw) sum += weight;
    spans.push_back({static_cast<std::int32_t>(first), static_cast<std::int32_t>(raw.size()), weights.size()});
    for (const double weight : raw) {
      const double fixed = weight / sum * (1 << kWeightBits);
      weights.push_back(static_cast<std::int32_t>(fixed + (fixed < 0 ? -0.5 : 0.5)));
    }
    weights.resize((weights.size() + kWeightStep - 1) / kWeightStep * kWeightStep);
  }
};

/// Only those rows.
Picture resize_rows(const Picture& in, const Weights& weights, Range rows, const ResizeKernels& kernels) {
  Picture out = Picture::unset(in.channels, rows.size(), std::ssize(weights.spans));
  const auto row = in.channels == 1 ? kernels.grey_row : kernels.colour_row;
  for (std::int64_t y = 0; y < out.height; ++y) {
    row(in.row(rows.begin + y), out.row(y), weights.spans, weights.weights.data());
  }
  return out;
}

/// Only those columns.
Picture resize_columns(const Picture& in, const Weights& weights, Range columns, const ResizeKernels& kernels) {
  Picture out = Picture::unset(in.channels, std::ssize(weights.spans), columns.size());
  const auto stride = static_cast<std::size_t>(in.width * in.channels);
  const auto row_values = static_cast<std::size_t>(out.width * out.channels);
  for (std::int64_t y = 0; y < out.height; ++y) {
    const WeightSpan& span = weights.spans[static_cast<std::size_t>(y)];
    kernels.column(in.row(span.first) + columns.begin * in.channels, stride, weights.weights.data() + span.weights,
                   span.count, row_values, out.row(y));
  }
  return out;
}

Picture resize_part(Picture picture, std::int64_t height, std::int64_t width, const PictureArea& part,
                    ResizeFilter filter, const ResizeKernels& kernels) {
  if (height < 1 || width < 1) {
    throw Error("can't resize an image to " + std::to_string(width) + "x" + std::to_string(height) +
                ": both extents must be at least 1");
  }
  const bool within = part.x >= 0 && part.y >= 0 && part.width > 0 && part.height > 0 && part.x + part.width <= width &&
                      part.y + part.height <= height;
  if (!within) throw Error("a part that is not within a resized picture was asked for");
  const bool keeps_width = width == picture.width, keeps_height = height == picture.height;
  if (keeps_width && keeps_height && part.width == width && part.height == height) return picture;
  if (filter == ResizeFilter::kOpenCv) return opencv_resize_part(picture, height, width, part);
  Weights across(picture.width, width, {part.x, part.x + part.width}, filter);
  Weights down(picture.height, height, {part.y, part.y + part.height}, filter);
  if (keeps_width) return resize_columns(picture, down, across.inputs(), kernels);
  if (keeps_height) return resize_rows(picture, across, down.inputs(), kernels);
  // The order decides the rounding, so this rule is Pillow's: columns first where that leaves far less to do for the
  // rows.
  const std::int64_t fewer_rows = picture.height - height, fewer_columns = picture.width - width;
  if (fewer_rows > 0 && fewer_rows > 2 * fewer_columns) {
    picture = resize_columns(picture, down, across.inputs(), kernels);
    across.move_to_first_input();
    return resize_rows(picture, across, {0, picture.height}, kernels);
  }
  picture = resize_rows(picture, across, down.inputs(), kernels);
  down.move_to_first_input();
  return resize_columns(picture, down, {0, picture.width}, kernels);
}

}  // namespace

const char* resize_filter_name(ResizeFilter filter) {
  switch (filter) {
    case ResizeFilter::kNearest:
      return "nearest";
    case ResizeFilter::kBilinear:
      return "bilinear";
    case ResizeFilter::kBicubic:
      return "bicubic";
    case ResizeFilter::kLanczos:
      return "lanczos";
    case ResizeFilter::kOpenCv:
      return "opencv";
  }
  return "";
}

ResizeFilter parse_resize_filter(const std::string& name) {
  std::vector<std::string> known;
  for (const ResizeFilter filter : kFilters) {
    known.emplace_back(resize_filter_name(filter));
    if (name == known.back()) return filter;
  }
  throw UsageError(unknown_name_message("interpolation", name, known));
}

Picture resize(Picture picture, std::int64_t height, std::int64_t width, ResizeFilter filter,
               const ResizeKernels& kernels) {
  return resize_part(std::move(picture), height, width, {0, 0, width, height}, filter, kernels);
}

Picture resize(Picture picture, std::int64_t height, std::int64_t width, ResizeFilter filter) {
  return resize(std::move(picture), height, width, filter, resize_kernels());
}

Picture resize_part(Picture picture, std::int64_t height, std::int64_t width, const PictureArea& part,
                    ResizeFilter filter) {
  return resize_part(std::move(picture), height, width, part, filter, resize_kernels());
}

}  // namespace evener::data
