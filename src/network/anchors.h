// The boxes that a detector starts from: it says how far an object lies from them, and which class it has.
// Torchvision's DefaultBoxGenerator (SSD: Liu et al. 2016) for feature maps of any size.
#pragma once

#include <cstdint>
#include <vector>

namespace evener::network {

/// A box by its centre and its extents, as shares of the image's width and height.
struct Anchor {
  float cx = 0, cy = 0, w = 0, h = 0;

  bool operator==(const Anchor&) const = default;
};

/// A feature map, each cell of which has anchors around its middle: a square of `scale`, a square of the geometric mean
/// of `scale` and `next_scale`, and two rectangles of the first one's area for each aspect ratio, lying and standing.
struct AnchorLevel {
  std::int64_t rows = 1, columns = 1;
  double scale = 0.2, next_scale = 0.2;        // shares of the image's sides
  std::vector<double> aspect_ratios = {2, 3};  // long side over short side

  std::int64_t anchors_per_cell() const { return 2 + 2 * static_cast<std::int64_t>(aspect_ratios.size()); }
};

/// So many scales, evenly from `least` to `greatest`, and 1 after them: level k has scale k and next scale k + 1. One
/// level has `least`, and `greatest` next. Throws Error for no level, and for scales that are not 0 < least <=
/// greatest.
std::vector<double> anchor_scales(std::size_t levels, double least, double greatest);

/// The anchors of all levels, one after the other; of a level row by row, of a row cell by cell. Extents are clipped to
/// the image's.
std::vector<Anchor> default_boxes(const std::vector<AnchorLevel>& levels);

}  // namespace evener::network
