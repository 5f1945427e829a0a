// Images of one part of the data that are also in another, by their files.
#pragma once

#include <string>
#include <vector>

#include "data/copies.h"
#include "data/open/open_data.h"

namespace evener::task {

/// An image to validate or test on and one to train on that it is a copy of, by their names (Dataset::source()).
struct CopiedFiles {
  std::string judged, part;  // "validation" or "test"
  std::string trained;
  data::CopyRelation relation;
  double distance = 0;  // data::CopiedImage
};

/// What was found of copies.
struct CopySearch {
  std::vector<CopiedFiles> pairs;  // validation before test, in their order; nearest first
  std::size_t judged = 0;          // images to validate or test on that are in a pair,
  std::size_t exact = 0;           // with every pixel the same as another's
  bool is_made = false;            // otherwise nothing is known
  std::string near_reason;         // why only exact copies were looked for; "" = near ones, too
};

/// Compares the images to validate and test on with those to train on. Throws as data::find_copies().
CopySearch search_copies(const data::OpenedData& data, int threads);

/// The same after a classifier's training. No search is made of other data, where pixels are not all in memory (to read
/// them again could take as long as an epoch), and after a stop request.
CopySearch copies_after_training(const data::OpenedData& data, int threads);

}  // namespace evener::task
