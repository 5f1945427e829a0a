// Images that are in two parts of the data at once: what is judged by them was trained on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace evener::data {

/// How the judged image of a pair differs from the training image.
struct CopyRelation {
  bool is_exact = false;    // in no pixel
  std::size_t turned = 0;   // what brings it to the other's orientation, of orientations() (data/grey_grid.h)
  bool is_cropped = false;  // either of them shows less than the other, at its borders
  double gain = 1;          // its mean by the other's, where both show the same
  /// "the same", "nearly the same", or what was done: "mirrored, cropped, brighter"; "turned left by 90 degrees".
  std::string text() const;
};

/// A judged image and a training image that it is a copy of.
struct CopiedImage {
  std::uint32_t judged = 0, trained = 0;  // samples of the dataset
  CopyRelation relation;
  double distance = 0;  // 1 - the correlation of their details; 0 for exact copies
};

/// Images of a side below this are compared pixel by pixel alone: small ones look alike when they are others.
inline constexpr std::int64_t kLeastComparedSide = 32;
/// Whether near copies are looked for among images of a shape.
bool near_copies_are_sought(const ImageShape& shape);

/// Each pair of one of `judged` and one of `trained` that are copies of each other, in the order of `judged`, nearest
/// first, a hundred for an image at most. Exact copies have the same pixels. Near ones may be mirrored, turned by right
/// angles, cropped by up to 5 % at each border, brighter and darker, each or all of it. They are found by hashes
/// (data/crop_hashes.h), of which a band has to agree, and at most 8 bits differ; and are copies where, once aligned
/// (data/alignment.h), grey values and details correlate by 0.95 or more. Dull images, whose grey values deviate by
/// less than 12 of 255, have no near copies. Reads every image once, and those that look alike once more, on `threads`
/// threads. Throws Interrupted after a stop request.
std::vector<CopiedImage> find_copies(const Dataset& dataset, std::span<const std::uint32_t> trained,
                                     std::span<const std::uint32_t> judged, int threads);

}  // namespace evener::data
