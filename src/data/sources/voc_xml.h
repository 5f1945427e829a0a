// PASCAL VOC's XML of one image.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace evener::data {

/// A file of more bytes, or with more objects, is refused.
constexpr std::uint64_t kMaxVocBytes = std::uint64_t{16} << 20;
constexpr std::size_t kMaxVocObjects = 100'000;

/// An <object>. The corners are as they stand in the file: VOC counts pixels from 1, and both corners are inside.
struct VocObject {
  std::string name;
  double xmin = 0, ymin = 0, xmax = 0, ymax = 0;
  bool is_difficult = false, is_truncated = false;
};

struct VocAnnotation {
  std::string filename;                // "" if it doesn't say
  std::int64_t width = 0, height = 0;  // 0 if it doesn't say
  std::vector<VocObject> objects;
  std::vector<std::string> problems;  // a sentence for each object that was left out because it lacks a name or a
                                      // number
};

/// Reads the bytes of a file in any encoding that XML declares. Entities that the file defines itself are not expanded.
/// Throws Error with the reason alone: no XML, cut short, no <annotation>, too large.
VocAnnotation parse_voc(std::string_view file);

}  // namespace evener::data
