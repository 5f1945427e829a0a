// Fuzz target: arbitrary bytes as a TensorFlow Lite model. Whatever they are, they are read or refused with an Error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "weights/tflite_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    evener::weights::parse_tflite_convolutions({reinterpret_cast<const char*>(data), size});
  } catch (const evener::Error&) {
  }
  return 0;
}
