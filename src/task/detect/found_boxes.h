// What was found on a photo, and the same as files of labels have it: to correct it by hand, or to train on it.
#pragma once

#include <string>
#include <vector>

#include "data/box_text.h"
#include "task/detect/decode.h"
#include "task/detect/photos.h"

namespace evener::task {

/// What was found on a photo.
struct FoundBoxes {
  std::string file;
  PhotoSize size;
  std::vector<Detection> boxes;
};

/// The boxes that are at least so likely.
data::BoxedFile boxed_file(const FoundBoxes& found, float least = 0);

}  // namespace evener::task
