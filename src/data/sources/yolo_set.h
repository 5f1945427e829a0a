// The YAML file of a set of images as YOLO has them: its classes, and where the images of its parts lie.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/sources/yolo_points.h"

namespace evener::data {

/// Larger files are refused: a hostile one takes some 250 bytes of memory for each of its bytes.
constexpr std::uint64_t kMaxYoloSetBytes = std::uint64_t{2} << 20;

struct YoloSet {
  std::vector<std::string> names;
  std::string path;                           // folder to which train, val and test are relative; "" = the file's own
                                              // folder
  std::vector<std::string> train, val, test;  // folders of images, or files that list images
  std::optional<KeyPoints> key_points;
  std::vector<std::string> notes;
};

/// Reads any YAML, and so JSON; keys that a set doesn't need are passed over. Throws Error with the reason alone, and
/// the line where there is one: no YAML, no names, numbers of names with gaps, a key with a value of another kind.
YoloSet parse_yolo_set(std::string_view file);

/// Whether a file is such a YAML file: it has the keys names and train. A damaged file counts if it has lines that
/// begin with these, so that the error message can say what is wrong.
bool is_yolo_set(std::string_view file);

}  // namespace evener::data
