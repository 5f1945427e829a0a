// The boxes found on a photo, and their conversion to label files, which people correct by hand or train on.
#pragma once

#include <string>
#include <vector>

#include "data/box_text.h"
#include "task/detect/decode.h"
#include "task/detect/photos.h"

namespace evener::task {

/// The boxes found on a photo.
struct FoundBoxes {
  std::string file;
  PhotoSize size;
  std::vector<Detection> boxes;
};

/// The content of a label file: the boxes with a score of at least `least`.
data::BoxedFile boxed_file(const FoundBoxes& found, float least = 0);

}  // namespace evener::task
