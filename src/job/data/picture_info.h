// Describes pictures that have no classes.
#pragma once

#include <string>

#include "job/description.h"
#include "job/observer.h"

namespace evener::job {

struct PictureInfoRequest {
  std::string location;  // a folder, a file or a pattern (data/picture_listing.h)
  int threads = 1;
  bool strict = false;      // an unusable picture is an error
  std::string advice = {};  // a sentence on what to do so that the pictures can be trained on
};

/// Decodes every picture once; tells how many there are, their sizes and colours, and which are unusable. Throws Error
/// where there is none that can be used.
Description picture_info(const PictureInfoRequest& request, Observer& observer);

}  // namespace evener::job
