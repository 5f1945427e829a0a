// WIDTHxHEIGHT on the command line, as in --size 197x148.
#pragma once

#include <cstdint>
#include <string>

namespace evener::job {

struct ImageSize {
  std::int64_t width = 0;
  std::int64_t height = 0;
};

/// Reads "197x148" (width x height, in pixels; "224" alone is a square). Throws UsageError with an example.
ImageSize parse_image_size(const std::string& text);

}  // namespace evener::job
