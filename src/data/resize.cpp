#include "data/resize.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/resize_kernels.h"

namespace evener::data {

namespace {

/// For each output position: which inputs it is made of, and their weights.
struct Filter {
  std::vector<WeightSpan> spans;
  std::vector<std::int32_t> weights;

  Filter(std::int64_t in, std::int64_t out) {
    const double scale = static_cast<double>(in) / static_cast<double>(out);
    const double support = std::max(scale, 1.0);  // half the width of the triangle, in input pixels
    std::vector<double> raw;
    spans.reserve(static_cast<std::size_t>(out));
    for (std::int64_t i = 0; i < out; ++i) {
      const double center = (static_cast<double>(i) + 0.5) * scale;
      const auto first = static_cast<std::int64_t>(std::max(center - support + 0.5, 0.0));
      const auto end = static_cast<std::int64_t>(std::min(center + support + 0.5, static_cast<double>(in)));
      raw.clear();
      double sum = 0;
      for (std::int64_t x = first; x < end; ++x) {
        const double distance = std::abs((static_cast<double>(x) - center + 0.5) * (1.0 / support));
        raw.push_back(std::max(0.0, 1.0 - distance));
        sum += raw.back();
      }
      spans.push_back({static_cast<std::int32_t>(first), static_cast<std::int32_t>(raw.size()), weights.size()});
      for (const double weight : raw) {
        weights.push_back(static_cast<std::int32_t>(0.5 + weight / sum * (1 << kWeightBits)));
      }
      weights.resize((weights.size() + kWeightStep - 1) / kWeightStep * kWeightStep);
    }
  }
};

Picture resize_rows(const Picture& in, std::int64_t width, const ResizeKernels& kernels) {
  const Filter filter(in.width, width);
  Picture out = Picture::unset(in.channels, in.height, width);
  const auto row = in.channels == 1 ? kernels.grey_row : kernels.colour_row;
  for (std::int64_t y = 0; y < in.height; ++y) row(in.row(y), out.row(y), filter.spans, filter.weights.data());
  return out;
}

Picture resize_columns(const Picture& in, std::int64_t height, const ResizeKernels& kernels) {
  const Filter filter(in.height, height);
  Picture out = Picture::unset(in.channels, height, in.width);
  const auto row_values = static_cast<std::size_t>(in.width * in.channels);
  for (std::int64_t y = 0; y < height; ++y) {
    const WeightSpan& span = filter.spans[static_cast<std::size_t>(y)];
    kernels.column(in.row(span.first), row_values, filter.weights.data() + span.weights, span.count, row_values,
                   out.row(y));
  }
  return out;
}

}  // namespace

Picture resize(Picture picture, std::int64_t height, std::int64_t width, const ResizeKernels& kernels) {
  if (height < 1 || width < 1) {
    throw Error("can't resize an image to " + std::to_string(width) + "x" + std::to_string(height) +
                ": both extents must be at least 1");
  }
  // The order decides the rounding, so this rule is Pillow's: columns first where that leaves far less to do for the
  // rows.
  const std::int64_t fewer_rows = picture.height - height, fewer_columns = picture.width - width;
  const bool columns_first = fewer_rows > 0 && fewer_rows > 2 * fewer_columns;
  if (columns_first) picture = resize_columns(picture, height, kernels);
  if (width != picture.width) picture = resize_rows(picture, width, kernels);
  if (height != picture.height) picture = resize_columns(picture, height, kernels);
  return picture;
}

Picture resize(Picture picture, std::int64_t height, std::int64_t width) {
  return resize(std::move(picture), height, width, resize_kernels());
}

}  // namespace evener::data
