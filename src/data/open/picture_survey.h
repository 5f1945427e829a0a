// What pictures there are: their sizes, their colours, and which of them are unusable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/each_index.h"
#include "data/open/pictures.h"
#include "data/skipped.h"

namespace evener::data {

/// A size that some pictures have, in pixels.
struct PictureSize {
  std::int64_t width = 0, height = 0;
  std::size_t pictures = 0;  // of exactly this size
};

struct PictureSurvey {
  std::size_t grey = 0, colour = 0;  // pictures that can be decoded; the sizes are theirs
  /// By the number of pixels. All three have 0 pictures where none can be decoded.
  PictureSize smallest, largest, commonest;
  std::vector<Skipped> unreadable;  // in the order of the files
  std::vector<std::string> notes;   // of images of 16 bits that use few of their values

  std::size_t readable() const { return grey + colour; }
};

/// Decodes every picture once, on `threads` threads, and keeps none: only then it is known that it can be decoded.
/// Throws Interrupted after a stop request.
PictureSurvey survey_pictures(const Pictures& pictures, int threads, const Progress& progress = {});

/// The notes of a few pictures spread over all. Of those that aren't of 16 bits only the headers are looked at.
std::vector<std::string> deep_notes(const Pictures& pictures);

}  // namespace evener::data
