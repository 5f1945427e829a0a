// Fuzz target: arbitrary bytes as an ONNX file whose tensors may lie in others. Whatever they are, a list comes back.
#include <cstddef>
#include <cstdint>

#include "weights/onnx_parts.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  evener::weights::external_tensors({reinterpret_cast<const char*>(data), size});
  return 0;
}
