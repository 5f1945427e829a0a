// Parses arbitrary bytes as YOLO's text file of an image and as the YAML file of a set.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/sources/yolo.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(bytes), size);
  const std::vector<evener::data::YoloLabels> files{evener::data::parse_yolo_labels(file)};
  const evener::data::LongLines long_lines(files, std::nullopt);
  for (const evener::data::YoloLine& line : files[0].lines) {
    const evener::data::YoloCorners box = long_lines.box_of(line);
    if (line.class_index < 0) std::abort();
    if (long_lines.refusal(line).empty() && !std::isfinite(box.x1 + box.y1)) std::abort();
  }
  evener::data::is_yolo_set(file);
  try {
    const evener::data::YoloSet set = evener::data::parse_yolo_set(file);
    if (set.names.empty()) std::abort();
  } catch (const evener::Error&) {
  }
  return 0;
}
