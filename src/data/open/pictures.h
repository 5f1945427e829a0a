// Image files at their own size, without labels: what a network that is already trained is shown.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "data/codecs/picture.h"
#include "data/passed_over.h"
#include "data/skipped.h"

namespace evener::data {

/// A list of image files, each of which is decoded whenever it is asked for. Opening lists names and decodes nothing,
/// so that it is quick, and takes no memory for pixels, however many files there are.
class Pictures {
 public:
  /// Lists the image files that `locations` name (list_pictures in data/picture_listing.h says what those may be, and
  /// in which order files come). Throws Error when there is none; Interrupted after a stop request.
  explicit Pictures(const std::vector<std::string>& locations);

  std::size_t size() const { return files_.size(); }
  /// The path of file `index`: beginning as its location was given.
  const std::string& source(std::size_t index) const { return files_[index]; }
  /// Decodes file `index` (phases "read" and "decode") at its own size, upright by its EXIF orientation, with 1 channel
  /// (grey) or 3 (RGB), as it has them. Thread-safe. Throws Error with the reason alone if that is impossible; callers
  /// list such a file with it and go on.
  Picture read(std::size_t index) const;

  /// Throws Error, with the reason of the first file, where none of the files can be decoded. Stops at the first file
  /// that can, which is usually the very first, and looks at no more than some.
  void require_readable() const;

  /// Folders that could not be listed.
  const std::vector<Skipped>& skipped() const { return skipped_; }
  /// What a user should know: files that were named twice, folders that were passed over, whose images are counted now.
  std::vector<std::string> notes() const;

 private:
  std::vector<std::string> files_;
  std::vector<Skipped> skipped_;
  std::vector<std::string> notes_;
  PassedOver passed_over_;
};

}  // namespace evener::data
