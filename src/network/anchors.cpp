#include "network/anchors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace evener::network {
namespace {

/// Width and height of a cell's anchors, in torchvision's order.
std::vector<std::pair<double, double>> extents_of(const AnchorLevel& level) {
  const double between = std::sqrt(level.scale * level.next_scale);
  std::vector<std::pair<double, double>> extents = {{level.scale, level.scale}, {between, between}};
  for (const double ratio : level.aspect_ratios) {
    const double root = std::sqrt(ratio);
    extents.emplace_back(level.scale * root, level.scale / root);
    extents.emplace_back(level.scale / root, level.scale * root);
  }
  for (auto& [width, height] : extents) {
    width = std::clamp(width, 0.0, 1.0);
    height = std::clamp(height, 0.0, 1.0);
  }
  return extents;
}

/// The middle of a cell. In float32, as torchvision computes it.
float middle_of(std::int64_t cell, std::int64_t cells) {
  return (static_cast<float>(cell) + 0.5F) / static_cast<float>(cells);
}

}  // namespace

std::vector<double> anchor_scales(std::size_t levels, double least, double greatest) {
  if (levels == 0 || !(least > 0 && least <= greatest && std::isfinite(greatest))) {
    throw Error(
        fmt::format("anchors of {} levels can't have scales from {} to {}; they need a level and 0 < least <= greatest",
                    levels, least, greatest));
  }
  if (levels == 1) return {least, greatest};
  std::vector<double> scales;
  for (std::size_t k = 0; k < levels; ++k) {
    scales.push_back(least + (greatest - least) * static_cast<double>(k) / static_cast<double>(levels - 1));
  }
  scales.push_back(1);
  return scales;
}

std::vector<Anchor> default_boxes(const std::vector<AnchorLevel>& levels) {
  std::vector<Anchor> anchors;
  for (const AnchorLevel& level : levels) {
    const auto extents = extents_of(level);
    for (std::int64_t row = 0; row < level.rows; ++row) {
      for (std::int64_t column = 0; column < level.columns; ++column) {
        for (const auto& [width, height] : extents) {
          anchors.push_back({middle_of(column, level.columns), middle_of(row, level.rows), static_cast<float>(width),
                             static_cast<float>(height)});
        }
      }
    }
  }
  return anchors;
}

}  // namespace evener::network
