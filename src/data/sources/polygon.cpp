#include "data/sources/polygon.h"

#include <algorithm>
#include <cmath>

namespace evener::data {

namespace {

/// Signed areas per pixel, as font renderers keep them: each edge adds, in every row it crosses, how much the area to
/// its right begins within each pixel; running sums along a row then give the coverage.
class AreaSums {
 public:
  AreaSums(std::int64_t width, std::int64_t height)
      : width_(width), height_(height), sums_(static_cast<std::size_t>((width + 2) * height)) {}

  void add_edge(Point from, Point to) {
    const double direction = from.y < to.y ? 1 : -1;
    if (from.y > to.y) std::swap(from, to);
    if (from.y >= to.y) return;
    const double slope = (to.x - from.x) / (to.y - from.y);
    const double top = std::max(from.y, 0.0);
    const double bottom = std::min(to.y, static_cast<double>(height_));
    for (auto row = static_cast<std::int64_t>(top); static_cast<double>(row) < bottom; ++row) {
      const double begin = std::max(top, static_cast<double>(row));
      const double end = std::min(bottom, static_cast<double>(row + 1));
      if (end <= begin) continue;
      add_piece(row, from.x + (begin - from.y) * slope, from.x + (end - from.y) * slope, direction * (end - begin));
    }
  }

  void write(std::span<std::uint8_t> pixels) const {
    for (std::int64_t y = 0; y < height_; ++y) {
      const float* sums = sums_.data() + y * (width_ + 2);
      std::uint8_t* out = pixels.data() + y * width_;
      float area = 0;
      for (std::int64_t x = 0; x < width_; ++x) {
        area += sums[x];
        out[x] = static_cast<std::uint8_t>(std::min(std::abs(area), 1.0F) * 255.0F + 0.5F);
      }
    }
  }

 private:
  /// A piece of an edge within one row, from x0 to x1, that covers `height` of the row (negative: upwards).
  void add_piece(std::int64_t row, double x0, double x1, double height) {
    float* sums = sums_.data() + row * (width_ + 2);
    const double right_end = static_cast<double>(width_);
    double left = std::clamp(std::min(x0, x1), 0.0, right_end);
    const double right = std::clamp(std::max(x0, x1), 0.0, right_end);
    auto column = static_cast<std::int64_t>(left);
    if (right <= static_cast<double>(column + 1)) {  // within one pixel
      const double inside = static_cast<double>(column + 1) - (left + right) / 2;
      sums[column] += static_cast<float>(height * inside);
      sums[column + 1] += static_cast<float>(height * (1 - inside));
      return;
    }
    const double per_x = height / (right - left);
    for (; left < right; ++column) {
      const double next = std::min(right, static_cast<double>(column + 1));
      const double part = per_x * (next - left);
      const double inside = static_cast<double>(column + 1) - (left + next) / 2;
      sums[column] += static_cast<float>(part * inside);
      sums[column + 1] += static_cast<float>(part * (1 - inside));
      left = next;
    }
  }

  std::int64_t width_, height_;
  std::vector<float> sums_;
};

}  // namespace

void fill_polygon(std::span<const Point> outline, std::int64_t width, std::int64_t height,
                  std::span<std::uint8_t> pixels) {
  AreaSums sums(width, height);
  for (std::size_t i = 0; i < outline.size(); ++i) sums.add_edge(outline[i], outline[(i + 1) % outline.size()]);
  sums.write(pixels);
}

}  // namespace evener::data
