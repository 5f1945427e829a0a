// Colours and shapes without hard edges, for drawings that are shaded.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

namespace evener::data {

/// Red, green and blue, each from 0 to 255.
using Rgb = std::array<double, 3>;

inline Rgb mixed_rgb(const Rgb& a, const Rgb& b, double share) {
  return {a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1]), a[2] + share * (b[2] - a[2])};
}

inline Rgb scaled_rgb(const Rgb& colour, double factor) {
  return {colour[0] * factor, colour[1] * factor, colour[2] * factor};
}

/// The colour at a place from 0 to 1 along a row of two or more.
inline Rgb rgb_along(std::span<const Rgb> row, double place) {
  const double at = std::clamp(place, 0.0, 1.0) * static_cast<double>(row.size() - 1);
  const auto i = std::min(static_cast<std::size_t>(at), row.size() - 2);
  return mixed_rgb(row[i], row[i + 1], at - static_cast<double>(i));
}

/// From 0 at `low` smoothly to 1 at `high`.
inline double smooth_rise(double low, double high, double x) {
  const double t = std::clamp((x - low) / (high - low), 0.0, 1.0);
  return t * t * (3 - 2 * t);
}

/// The share of a place that lies within an edge, `inside` before it or -inside beyond it; the edge is `soft` wide.
inline double soft_edge(double inside, double soft) {
  return std::clamp(inside / soft + 0.5, 0.0, 1.0);
}

/// 1 on a line, `off` away from it less, 0 where that is `width` and more.
inline double soft_line(double off, double width) {
  return std::max(0.0, 1 - std::abs(off) / width);
}

/// The share of a place that an ellipse around (0, 0) covers.
inline double soft_disc(double x, double y, double radius_x, double radius_y, double soft) {
  const double u = x / radius_x, v = y / radius_y;
  return soft_edge((1 - std::sqrt(u * u + v * v)) * std::min(radius_x, radius_y), soft);
}

/// A smooth hill on an ellipse, or a hollow.
struct Bump {
  double x, y, radius_x, radius_y, height;

  /// 1 in the middle, 0 outside.
  double within(double at_x, double at_y) const {
    const double u = (at_x - x) / radius_x, v = (at_y - y) / radius_y;
    return std::max(0.0, 1 - u * u - v * v);
  }
};

inline double height_of(std::span<const Bump> bumps, double x, double y) {
  double sum = 0;
  for (const Bump& bump : bumps) {
    const double within = bump.within(x, y);
    sum += bump.height * within * within * within;
  }
  return sum;
}

/// The derivatives of height_of along x and y.
inline std::array<double, 2> slope_of(std::span<const Bump> bumps, double x, double y) {
  std::array<double, 2> slope{};
  for (const Bump& bump : bumps) {
    const double within = bump.within(x, y), factor = -6 * bump.height * within * within;
    slope[0] += factor * (x - bump.x) / (bump.radius_x * bump.radius_x);
    slope[1] += factor * (y - bump.y) / (bump.radius_y * bump.radius_y);
  }
  return slope;
}

}  // namespace evener::data
