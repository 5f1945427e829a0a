#include "data/resize.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace evener::data {

namespace {

constexpr int kWeightBits = 22;  // 8 bits of value, 2 bits of headroom, 22 bits of weight: 32
constexpr std::int32_t kHalf = std::int32_t{1} << (kWeightBits - 1);

std::uint8_t rounded(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

/// For each output position: which inputs it is made of, and their weights.
struct Filter {
  struct Span {
    std::int32_t first = 0;
    std::int32_t count = 0;
    std::size_t weights = 0;  // index of the first one
  };
  std::vector<Span> spans;
  std::vector<std::int32_t> weights;  // in units of 2^-22; those of a span sum to about 1

  Filter(std::int64_t in, std::int64_t out) {
    const double scale = static_cast<double>(in) / static_cast<double>(out);
    const double support = std::max(scale, 1.0);  // half the width of the triangle, in input pixels
    std::vector<double> raw;
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
    }
  }
};

template <int kChannels>
void resize_row(const std::uint8_t* in, std::uint8_t* out, const Filter& filter) {
  for (const Filter::Span& span : filter.spans) {
    const std::uint8_t* value = in + std::int64_t{span.first} * kChannels;
    const std::int32_t* weight = filter.weights.data() + span.weights;
    std::int32_t sums[kChannels];
    std::fill(sums, sums + kChannels, kHalf);
    for (std::int32_t k = 0; k < span.count; ++k, value += kChannels) {
      for (int c = 0; c < kChannels; ++c) sums[c] += value[c] * weight[k];
    }
    for (int c = 0; c < kChannels; ++c) *out++ = rounded(sums[c]);
  }
}

Picture resize_rows(const Picture& in, std::int64_t width) {
  const Filter filter(in.width, width);
  Picture out = Picture::unset(in.channels, in.height, width);
  for (std::int64_t y = 0; y < in.height; ++y) {
    if (in.channels == 1) {
      resize_row<1>(in.row(y), out.row(y), filter);
    } else {
      resize_row<3>(in.row(y), out.row(y), filter);
    }
  }
  return out;
}

Picture resize_columns(const Picture& in, std::int64_t height) {
  const Filter filter(in.height, height);
  Picture out = Picture::unset(in.channels, height, in.width);
  const auto row_values = static_cast<std::size_t>(in.width * in.channels);
  std::vector<std::int32_t> sums(row_values);
  for (std::int64_t y = 0; y < height; ++y) {
    const Filter::Span& span = filter.spans[static_cast<std::size_t>(y)];
    std::fill(sums.begin(), sums.end(), kHalf);
    for (std::int32_t k = 0; k < span.count; ++k) {
      const std::int32_t weight = filter.weights[span.weights + static_cast<std::size_t>(k)];
      const std::uint8_t* values = in.row(span.first + k);
      for (std::size_t i = 0; i < row_values; ++i) sums[i] += values[i] * weight;
    }
    std::uint8_t* to = out.row(y);
    for (std::size_t i = 0; i < row_values; ++i) to[i] = rounded(sums[i]);
  }
  return out;
}

}  // namespace

Picture resize(Picture picture, std::int64_t height, std::int64_t width) {
  if (height < 1 || width < 1) {
    throw Error("can't resize an image to " + std::to_string(width) + "x" + std::to_string(height) +
                ": both extents must be at least 1");
  }
  // The order decides the rounding, so this rule is Pillow's: columns first where that leaves far less to do for the
  // rows.
  const std::int64_t fewer_rows = picture.height - height, fewer_columns = picture.width - width;
  const bool columns_first = fewer_rows > 0 && fewer_rows > 2 * fewer_columns;
  if (columns_first) picture = resize_columns(picture, height);
  if (width != picture.width) picture = resize_rows(picture, width);
  if (height != picture.height) picture = resize_columns(picture, height);
  return picture;
}

}  // namespace evener::data
