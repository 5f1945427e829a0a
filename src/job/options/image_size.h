// WIDTHxHEIGHT on the command line, as in --size 197x148.
#pragma once

#include <cstdint>
#include <string>

#include "data/image_shape.h"

namespace evener::job {

struct ImageSize {
  std::int64_t width = 0;
  std::int64_t height = 0;
};

/// Reads "197x148" (width x height, in pixels; "224" alone is a square). Throws UsageError with an example.
ImageSize parse_image_size(const std::string& text);

/// The size of `image` with its longer side brought down to `side` and both to multiples of `step`; an image that is
/// smaller keeps its size.
ImageSize scaled_size(const data::ImageShape& image, std::int64_t side, std::int64_t step);

}  // namespace evener::job
