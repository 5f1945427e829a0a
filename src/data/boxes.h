// Arithmetic of boxes, and statistics of the boxes in data: how many of each class, their sizes and flags.
#pragma once

#include <cstddef>
#include <vector>

#include "data/codecs/picture.h"
#include "data/dataset.h"
#include "data/targets.h"

namespace evener::data {

/// The area in pixels; 0 for a box whose corners are swapped.
float box_area(const LabelledBox& box);

/// The area of the intersection; 0 where the boxes don't overlap.
float intersection_area(const LabelledBox& a, const LabelledBox& b);

/// The area of the intersection divided by that of the union; 0 where both boxes are empty.
float intersection_over_union(const LabelledBox& a, const LabelledBox& b);

/// Clips a box to the image. A box beside the image is left without area.
void clip_box(const ImageShape& shape, LabelledBox& box);

/// Both sides longer than 0.
bool has_area(const LabelledBox& box);

/// The boxes of one class. Sizes are in pixels of the images as the dataset serves them.
struct ClassBoxes {
  std::size_t boxes = 0, images = 0;          // images with a box of this class
  float median_width = 0, median_height = 0;  // 0 without boxes
};

struct BoxCensus {
  std::vector<ClassBoxes> classes;  // by label
  std::size_t boxes = 0, difficult = 0, truncated = 0, crowds = 0;
  /// Boxes by COCO's ranges of areas: below 32 x 32 pixels, below 96 x 96, and larger.
  std::size_t small = 0, medium = 0, large = 0;
  std::size_t images_without = 0, most_on_an_image = 0;
};

/// Counts the boxes. Throws Error where the data has classes instead of boxes.
BoxCensus count_boxes(const Dataset& dataset);

}  // namespace evener::data
