// Parses arbitrary bytes as the VOC XML of one image. What is accepted has a name and finite corners.
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "base/error.h"
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
  return 0;
}
