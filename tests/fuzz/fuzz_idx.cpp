// Parses arbitrary bytes as IDX files of images and of labels, plain and gzipped.
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "data/sources/idx_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(bytes), size);
  for (const int dimensions : {1, 3}) {
    try {
      evener::data::parse_idx(file, dimensions);
    } catch (const evener::Error&) {
    }
  }
  return 0;
}
