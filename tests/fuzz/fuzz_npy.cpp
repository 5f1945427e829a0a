// Fuzz target: arbitrary bytes as an array file of NumPy. Whatever they are, it is read or refused with an Error, and
// an array that was read has as many bytes as its shape says.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "data/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const evener::HostTensor array = evener::data::parse_npy({reinterpret_cast<const char*>(data), size});
    const auto values = static_cast<std::size_t>(evener::element_count(array.shape));
    if (array.bytes.size() != values * evener::size_bytes(array.dtype)) std::abort();
  } catch (const evener::Error&) {
  }
  return 0;
}
