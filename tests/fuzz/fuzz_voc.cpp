// Parses arbitrary bytes as the VOC XML of one image and as CVAT's of many. What is accepted has a name and finite
// corners.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "data/sources/cvat_xml.h"
#include "data/sources/voc_xml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  try {
    const auto annotation = evener::data::parse_voc({reinterpret_cast<const char*>(bytes), size});
    for (const evener::data::VocObject& object : annotation.objects) {
      if (object.name.empty()) std::abort();
      for (const double corner : {object.xmin, object.ymin, object.xmax, object.ymax}) {
        if (!std::isfinite(corner)) std::abort();
      }
    }
    if (annotation.width < 0 || annotation.height < 0) std::abort();
  } catch (const evener::Error&) {
  }
  evener::data::cvat_images_in({reinterpret_cast<const char*>(bytes), size});
  try {
    for (const auto& image : evener::data::parse_cvat({reinterpret_cast<const char*>(bytes), size})) {
      for (const evener::data::CvatBox& box : image.boxes) {
        if (box.label.empty() || !std::isfinite(box.x1 + box.y1 + box.x2 + box.y2)) std::abort();
      }
    }
  } catch (const evener::Error&) {
  }
  return 0;
}
