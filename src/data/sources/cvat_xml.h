// CVAT's own XML, "CVAT for images 1.1": a file with the boxes of many images.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace evener::data {

/// A file of more bytes is refused.
constexpr std::uint64_t kMaxCvatBytes = std::uint64_t{1} << 29;

/// A box with corners in pixels counted from 0; of a rotated box, a polygon or a mask, the bounding box.
struct CvatBox {
  std::string label;
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
};

struct CvatImage {
  std::string name, subset;
  std::int64_t width = 0, height = 0;  // 0 if it doesn't say
  std::vector<CvatBox> boxes;
  std::vector<std::string> problems;  // a sentence for each shape that was left out
};

/// Reads the bytes of a file. Throws Error with the reason alone: no XML, no <annotations>, a video's tracks.
std::vector<CvatImage> parse_cvat(std::string_view file);

/// The image names in the first bytes of a file; empty if it isn't CVAT's XML.
std::vector<std::string> cvat_images_in(std::string_view beginning);

}  // namespace evener::data
