// Arithmetic of boxes and non-maximum suppression, for the face detector and all others. A box is any type with the
// corners x1, y1, x2 and y2.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace evener::task {

/// The area that two boxes share. `extra`: added to the difference of coordinates to get a side; 1 where both corners
/// are pixels of the box.
template <class A, class B>
auto intersection(const A& a, const B& b, decltype(a.x1) extra = 0) {
  using Number = decltype(a.x1 + b.x1);
  const Number width = std::min<Number>(a.x2, b.x2) - std::max<Number>(a.x1, b.x1) + extra;
  const Number height = std::min<Number>(a.y2, b.y2) - std::max<Number>(a.y1, b.y1) + extra;
  return std::max<Number>(0, width) * std::max<Number>(0, height);
}

template <class Box>
auto area_of(const Box& box, decltype(box.x1) extra = 0) {
  return (box.x2 - box.x1 + extra) * (box.y2 - box.y1 + extra);
}

/// The shared area as a share of the united one; not a number for two boxes without area.
template <class A, class B>
auto intersection_over_union(const A& a, const B& b) {
  const auto both = intersection(a, b);
  return both / (area_of(a) + area_of(b) - both);
}

/// Greedy non-maximum suppression (NMS): goes through `order`, indices of boxes, the best first, and keeps a box unless
/// hides(kept, next) is true for a box that was kept before. Returns the indices that were kept, in that order.
template <class Hides>
std::vector<std::size_t> nms(std::span<const std::size_t> order, const Hides& hides) {
  std::vector<std::size_t> kept;
  for (const std::size_t next : order) {
    if (std::ranges::none_of(kept, [&](std::size_t other) { return hides(other, next); })) kept.push_back(next);
  }
  return kept;
}

}  // namespace evener::task
