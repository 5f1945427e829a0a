// Images that are in two parts of the data at once, by the names of their files.
#pragma once

#include <string>
#include <vector>

#include "data/copies.h"
#include "data/open/open_data.h"

namespace evener::task {

/// A validation or test image that is a copy of a training image, both by their names (Dataset::source()).
struct CopiedFiles {
  std::string judged, part;  // "validation" or "test"
  std::string trained;
  data::CopyRelation relation;
  double distance = 0;  // data::CopiedImage
};

/// The result of looking for copies.
struct CopySearch {
  std::vector<CopiedFiles> pairs;  // validation before test, in their order; nearest first
  std::size_t judged = 0;          // validation and test images that are in a pair
  std::size_t exact = 0;           // of those, the ones that equal a training image in every pixel
  bool is_made = false;            // false: copies were not looked for
  std::string near_reason;         // why only exact copies were looked for; "" = near ones, too
};

/// Compares the images to validate and test on with those to train on. Throws as data::find_copies().
CopySearch search_copies(const data::OpenedData& data, int threads);

/// The same search at the end of a classifier's training. It is left out (is_made is false) for detectors, where not
/// all pixels are in memory, as reading them again could take as long as an epoch, and after a stop request.
CopySearch copies_after_training(const data::OpenedData& data, int threads);

}  // namespace evener::task
