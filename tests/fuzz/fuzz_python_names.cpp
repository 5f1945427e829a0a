// Fuzz target: arbitrary bytes as the names of classes in a file's metadata. Whatever they are, they become names or
// none.
#include <cstddef>
#include <cstdint>

#include "infer/model/metadata.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  evener::inference::names_in_text({reinterpret_cast<const char*>(data), size});
  return 0;
}
