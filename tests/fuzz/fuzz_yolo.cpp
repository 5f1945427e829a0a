// Parses arbitrary bytes as YOLO's text file of an image and as the YAML file of a set.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "data/sources/yolo_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(bytes), size);
  for (const evener::data::YoloBox& box : evener::data::parse_yolo_labels(file).boxes) {
    if (box.class_index < 0 || !(box.x1 < box.x2) || !(box.y1 < box.y2)) std::abort();
  }
  try {
    const evener::data::YoloSet set = evener::data::parse_yolo_set(file);
    if (set.names.empty()) std::abort();
  } catch (const evener::Error&) {
  }
  return 0;
}
