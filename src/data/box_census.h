// What boxes there are in data: how many of which class, their sizes and flags.
#pragma once

#include <cstddef>
#include <vector>

#include "data/dataset.h"

namespace evener::data {

/// Of one class. Sizes are in pixels of the images as they are served.
struct ClassBoxes {
  std::size_t boxes = 0, images = 0;          // images that have any of it
  float median_width = 0, median_height = 0;  // 0 without boxes
};

struct BoxCensus {
  std::vector<ClassBoxes> classes;  // by label
  std::size_t boxes = 0, difficult = 0, truncated = 0, crowds = 0;
  /// By area as COCO counts: below 32 x 32 pixels, below 96 x 96, and larger.
  std::size_t small = 0, medium = 0, large = 0;
  std::size_t images_without = 0, most_on_an_image = 0;
};

/// Throws Error where the data has classes, not boxes.
BoxCensus count_boxes(const Dataset& dataset);

}  // namespace evener::data
