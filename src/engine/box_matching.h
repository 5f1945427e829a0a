// Matches a detector's anchors with the objects of an image, and computes the targets of its outputs. Only the labelled
// boxes and the anchors are needed, so targets can be made before the network has computed anything.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/targets.h"
#include "network/anchors.h"

namespace evener::engine {

/// The weights of torchvision's BoxCoder: the first multiplies offsets of a box's centre, in units of the anchor's
/// extents, the second the logarithms of its extents over the anchor's.
inline constexpr float kCentreFactor = 10, kExtentFactor = 5;

/// The class target of an anchor that contributes no loss, neither as an object nor as background.
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
  /// The number of anchors that are matched with an object.
  std::int64_t count(std::span<const data::LabelledBox> objects) const;
  /// Writes the class target of each anchor into `classes` (anchors): 0 for the background, kIgnored, or the object's
  /// label plus one; and the object's offsets (dx, dy, dw, dh) from the anchor into `offsets` (anchors, 4), zeros for
  /// the background. Returns how many anchors are matched. Throws Error for a label that isn't one of the classes.
  std::int64_t match(std::span<const data::LabelledBox> objects, std::span<std::int64_t> classes,
                     std::span<float> offsets) const;

 private:
  /// The index of the object that each anchor is matched with; -1: none.
  std::vector<std::int32_t> owners(std::span<const data::LabelledBox> objects) const;

  float shared_area(const data::LabelledBox& object, std::size_t anchor) const;
  bool lies_in_crowd(std::span<const data::LabelledBox> objects, std::size_t anchor) const;

  std::vector<float> x1_, y1_, x2_, y2_, area_;  // of the anchors, in pixels
  std::int64_t classes_;
  float least_overlap_;
};

}  // namespace evener::engine
