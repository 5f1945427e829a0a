// Statistics of the boxes in data: how many of each class, their sizes and flags.
#pragma once

#include <cstddef>
#include <vector>

#include "data/dataset.h"

namespace evener::data {

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
