#include "data/resize.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "data/resize_kernels.h"

namespace evener::data {

namespace {

constexpr ResizeFilter kFilters[] = {ResizeFilter::kNearest, ResizeFilter::kBilinear, ResizeFilter::kBicubic,
                                     ResizeFilter::kLanczos};

double sinc(double x) {
  if (x == 0) return 1;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

/// The weight of a pixel that lies so far from the middle; beyond support_of() it is 0.
double weight_at(ResizeFilter filter, double distance) {
  switch (filter) {
    case ResizeFilter::kNearest:  // has no weights, see Weights
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

/// For each output position: which inputs it is made of, and their weights.
struct Weights {
  std::vector<WeightSpan> spans;
  std::vector<std::int32_t> weights;

  Weights(std::int64_t in, std::int64_t out, ResizeFilter filter) {
    const double scale = static_cast<double>(in) / static_cast<double>(out);
    spans.reserve(static_cast<std::size_t>(out));
    for (std::int64_t i = 0; i < out; ++i) {
      const double center = (static_cast<double>(i) + 0.5) * scale;
      if (filter == ResizeFilter::kNearest) {
        add(static_cast<std::int64_t>(center), {1});
      } else {
        add_span(in, center, std::max(scale, 1.0), filter);
      }
    }
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

Picture resize_rows(const Picture& in, std::int64_t width, ResizeFilter filter, const ResizeKernels& kernels) {
  const Weights weights(in.width, width, filter);
  Picture out = Picture::unset(in.channels, in.height, width);
  const auto row = in.channels == 1 ? kernels.grey_row : kernels.colour_row;
  for (std::int64_t y = 0; y < in.height; ++y) row(in.row(y), out.row(y), weights.spans, weights.weights.data());
  return out;
}

Picture resize_columns(const Picture& in, std::int64_t height, ResizeFilter filter, const ResizeKernels& kernels) {
  const Weights weights(in.height, height, filter);
  Picture out = Picture::unset(in.channels, height, in.width);
  const auto row_values = static_cast<std::size_t>(in.width * in.channels);
  for (std::int64_t y = 0; y < height; ++y) {
    const WeightSpan& span = weights.spans[static_cast<std::size_t>(y)];
    kernels.column(in.row(span.first), row_values, weights.weights.data() + span.weights, span.count, row_values,
                   out.row(y));
  }
  return out;
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
  if (height < 1 || width < 1) {
    throw Error("can't resize an image to " + std::to_string(width) + "x" + std::to_string(height) +
                ": both extents must be at least 1");
  }
  // The order decides the rounding, so this rule is Pillow's: columns first where that leaves far less to do for the
  // rows.
  const std::int64_t fewer_rows = picture.height - height, fewer_columns = picture.width - width;
  const bool columns_first = fewer_rows > 0 && fewer_rows > 2 * fewer_columns;
  if (columns_first) picture = resize_columns(picture, height, filter, kernels);
  if (width != picture.width) picture = resize_rows(picture, width, filter, kernels);
  if (height != picture.height) picture = resize_columns(picture, height, filter, kernels);
  return picture;
}

Picture resize(Picture picture, std::int64_t height, std::int64_t width, ResizeFilter filter) {
  return resize(std::move(picture), height, width, filter, resize_kernels());
}

}  // namespace evener::data
