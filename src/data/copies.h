// Finds images that are in two parts of the data at once. A test image that was also trained on makes the accuracy look
// better than it is.
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
  bool is_exact = false;   // all pixels are equal
  std::size_t turned = 0;  // the orientation that turns it as the training image: bit 2: rows and columns change places
                           // first; bits 0 and 1: then left and right, top and bottom
  double gain = 1;         // its mean grey value divided by the training image's
  /// "the same", "nearly the same", or what was done: "mirrored, brighter"; "turned left by 90 degrees".
  std::string text() const;
};

/// A judged image and a training image that it is a copy of.
struct CopiedImage {
  std::uint32_t judged = 0, trained = 0;  // samples of the dataset
  CopyRelation relation;
  double distance = 0;  // 1 - the correlation of their details; 0 for exact copies
};

/// For images with a shorter side, only exact copies are sought: small images look alike even when they aren't copies.
inline constexpr std::int64_t kLeastComparedSide = 32;
/// Whether near copies are looked for among images of a shape.
bool near_copies_are_sought(const ImageShape& shape);

/// Each pair of one of `judged` and one of `trained` that are copies of each other, in the order of `judged`, nearest
/// first, a hundred for an image at most. Exact copies have the same pixels. Near ones show the whole of the other
/// image: scaled, mirrored, turned by right angles, brighter or darker, each or all of it. Crops are not found.
/// Candidates are pairs whose hashes have a band in common and differ in at most 8 bits; they are copies where grey
/// values and details correlate by 0.95 or more, the details of drawn images, which are mostly flat, by 0.996. Images
/// of little contrast, whose grey values have a standard deviation below 12 of 255, have no near copies. Reads every
/// image once, and candidates once more, on `threads` threads. Throws Interrupted after a stop request.
std::vector<CopiedImage> find_copies(const Dataset& dataset, std::span<const std::uint32_t> trained,
                                     std::span<const std::uint32_t> judged, int threads);

}  // namespace evener::data
