// Parses arbitrary bytes as a CIFAR file, plain and gzipped. Records have 3 kB, so the bytes also stand for short ones:
// repeated to whole records, they reach the labels.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "data/sources/binary_files.h"

namespace {

void parse(std::string_view file) {
  try {
    const auto records = evener::data::parse_cifar(file);
    unsigned int sum = 0;
    for (std::size_t i = 0; i < records.size(); ++i) sum += records.label(i) + records.image(i)[3071];
    volatile unsigned int kept = sum;
    (void)kept;
  } catch (const evener::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(bytes), size);
  parse(file);
  if (size == 0) return 0;
  for (const std::size_t record : {3073, 3074}) {
    std::string whole;
    while (whole.size() < 2 * record) whole += file;
    parse(std::string_view(whole).substr(0, 2 * record));
  }
  return 0;
}
