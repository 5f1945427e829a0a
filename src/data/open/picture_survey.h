// A survey of pictures: their sizes, their colours, and which of them are unusable.
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
  std::size_t grey = 0, colour = 0;  // pictures that can be decoded; only their sizes count
  /// Smallest and largest by the number of pixels. All three have 0 pictures where none can be decoded.
  PictureSize smallest, largest, commonest;
  std::vector<Skipped> unreadable;  // in the order of the files
  std::vector<std::string> notes;   // of images of 16 bits that use few of their values

  std::size_t readable() const { return grey + colour; }
};

/// Decodes every picture once, on `threads` threads, as only this shows whether it can be decoded; keeps none in
/// memory. Throws Interrupted after a stop request.
PictureSurvey survey_pictures(const Pictures& pictures, int threads, const Progress& progress = {});

/// PictureSurvey::notes by a few pictures spread over all. Only the headers are read of those that don't have 16 bits.
std::vector<std::string> deep_notes(const Pictures& pictures);

}  // namespace evener::data
