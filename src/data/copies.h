// Finds images that are in two parts of the data at once. A test image that was also trained on makes the accuracy look
// better than it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/crop_hashes.h"
#include "data/dataset.h"

namespace evener::data {

/// How one image (the part) lies in another (the whole).
struct Alignment {
  Crop crop;            // of the whole: the crop that is most similar to the part
  double likeness = 0;  // correlation of the grey values, from -1 to 1
  double details = 0;   // correlation of the structure finer than 5 cells
  double gain = 1;      // the part's mean grey value divided by the crop's
};

/// Finds the crop of `whole` that is most similar to `part`, by steps from `begin` of at most 2 % of a side, and
/// compares the two on a grid of half as many cells. At most 12 % of a side are cropped.
Alignment align(const GreyGrid& whole, const GreyGrid& part, const Crop& begin);

/// How the judged image of a pair differs from the training image.
struct CopyRelation {
  bool is_exact = false;    // all pixels are equal
  std::size_t turned = 0;   // index into orientations() (data/crop_hashes.h): turns it as the training image
  bool is_cropped = false;  // one of the two shows less than the other at its borders
  double gain = 1;          // its mean grey value divided by the training image's, where both show the same
  /// "the same", "nearly the same", or what was done: "mirrored, cropped, brighter"; "turned left by 90 degrees".
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
/// first, a hundred for an image at most. Exact copies have the same pixels. Near ones may be mirrored, turned by right
/// angles, cropped by up to 5 % at each border, brighter and darker, each or all of it. Candidates are pairs whose
/// hashes (data/crop_hashes.h) have a band in common and differ in at most 8 bits; they are copies where, once aligned,
/// grey values and details correlate by 0.95 or more. Images of little contrast, whose grey values
/// have a standard deviation below 12 of 255, have no near copies. Reads every image once, and candidates once more, on
/// `threads` threads. Throws Interrupted after a stop request.
std::vector<CopiedImage> find_copies(const Dataset& dataset, std::span<const std::uint32_t> trained,
                                     std::span<const std::uint32_t> judged, int threads);

}  // namespace evener::data
