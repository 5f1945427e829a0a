// The anchors of a detector: fixed boxes, for each of which it predicts an object's offsets from the box, and its
// class. As torchvision's DefaultBoxGenerator (SSD: Liu et al. 2016), for feature maps of any size.
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

/// Returns `levels` + 1 scales: evenly spaced from `least` to `greatest`, then 1; level k has element k as its scale,
/// and element k + 1 as its next scale. A single level has `least`, and `greatest` next. Throws Error for 0 levels, and
/// unless 0 < least <= greatest.
std::vector<double> anchor_scales(std::size_t levels, double least, double greatest);

/// The anchors of all levels, level by level, row by row and cell by cell. Widths and heights are clipped to the
/// image's.
std::vector<Anchor> default_boxes(const std::vector<AnchorLevel>& levels);

}  // namespace evener::network
