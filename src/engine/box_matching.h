// Which anchors of a detector stand for which objects, and what its outputs should be there: of the truths and the
// anchors alone, so that it can be known before anything is computed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/targets.h"
#include "network/anchors.h"

namespace evener::engine {

/// What torchvision's BoxCoder multiplies offsets with: of a box's centre, in units of the anchor's extents, and of the
/// logarithms of its extents over the anchor's.
inline constexpr float kCentreFactor = 10, kExtentFactor = 5;

/// What an anchor says that has neither a loss as an object nor one as background.
inline constexpr std::int64_t kIgnored = -1;

/// Matches as network::MultiBox says, in torchvision's order: an anchor takes the first of the objects that overlap it
/// equally, and of objects that want the same anchor the last gets it. Crowds, which torchvision leaves out when it
/// reads COCO, are no objects: an anchor without an object, half of which or more lies in a crowd, is ignored.
class BoxMatcher {
 public:
  /// Images of `width` x `height` pixels; objects of `classes` classes.
  BoxMatcher(const std::vector<network::Anchor>& anchors, std::int64_t width, std::int64_t height, std::int64_t classes,
             double least_overlap);

  std::size_t anchors() const { return x1_.size(); }
  /// How many anchors are matched.
  std::int64_t count(std::span<const data::LabelledBox> objects) const;
  /// Writes the class of each anchor, 0 for the background, kIgnored, or the object's label and one, into `classes`
  /// (anchors), and the object's offsets (dx, dy, dw, dh) from it into `offsets` (anchors, 4), zeros for the
  /// background. Returns how many are matched. Throws Error for a label that isn't one of the classes.
  std::int64_t match(std::span<const data::LabelledBox> objects, std::span<std::int64_t> classes,
                     std::span<float> offsets) const;

 private:
  /// The object of each anchor; -1: none.
  std::vector<std::int32_t> owners(std::span<const data::LabelledBox> objects) const;

  float shared_area(const data::LabelledBox& object, std::size_t anchor) const;
  bool lies_in_crowd(std::span<const data::LabelledBox> objects, std::size_t anchor) const;

  std::vector<float> x1_, y1_, x2_, y2_, area_;  // of the anchors, in pixels
  std::int64_t classes_;
  float least_overlap_;
};

}  // namespace evener::engine
