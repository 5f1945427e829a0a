// Parses arbitrary bytes as COCO's JSON of instances. What is accepted has boxes of four finite numbers.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "data/sources/coco_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  evener::data::glance_at_coco(text);
  try {
    const auto file = evener::data::parse_coco(text);
    for (const auto& box : file.boxes) {
      for (const double number : {box.x, box.y, box.width, box.height}) {
        if (!std::isfinite(number)) std::abort();
      }
    }
  } catch (const evener::Error&) {
  }
  return 0;
}
