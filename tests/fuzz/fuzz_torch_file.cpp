// Fuzz target: arbitrary bytes as a PyTorch file, in both formats, and as a bare pickle. Whatever they are, they are
// read or refused with an Error.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "weights/pickle.h"
#include "weights/torch_file.h"

namespace {

template <class Act>
void allow_errors(Act act) {
  try {
    act();
  } catch (const evener::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  allow_errors([&] { evener::weights::parse_torch_file(bytes); });
  allow_errors([&] { evener::weights::pickle::parse(bytes, evener::weights::torch_names()); });
  // The front of a legacy file up to its object is constant; without it the fuzzer reaches the object sooner.
  static const std::string kFront(
      "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02}.", 25);
  allow_errors([&] { evener::weights::parse_torch_file(kFront + std::string(bytes)); });
  return 0;
}
