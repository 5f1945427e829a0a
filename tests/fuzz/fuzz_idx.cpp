// Parses arbitrary bytes as IDX files of images and of labels, plain and gzipped. What is accepted must fit together.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "data/sources/binary_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(bytes), size);
  for (const int dimensions : {1, 3}) {
    try {
      const evener::data::IdxArray array = evener::data::parse_idx(file, dimensions);
      std::int64_t count = 1;
      for (const std::int64_t extent : array.extents) count *= extent;
      if (array.extents.size() != static_cast<std::size_t>(dimensions)) std::abort();
      if (count != static_cast<std::int64_t>(array.values.size())) std::abort();
    } catch (const evener::Error&) {
    }
  }
  return 0;
}
