// Parses arbitrary bytes as COCO's JSON of instances. What is accepted has names for all that joins its lists.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "data/sources/coco_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  try {
    const auto file = evener::data::parse_coco({reinterpret_cast<const char*>(bytes), size});
    for (const auto& image : file.images) {
      if (image.width < 0 || image.height < 0) std::abort();
    }
    if (file.images.size() + file.boxes.size() + file.categories.size() > size) std::abort();
  } catch (const evener::Error&) {
  }
  return 0;
}
