// Fuzz target: arbitrary bytes as a request of the Open Inference Protocol, of which the first two say how many bytes
// of JSON there are. Whatever they are, they are refused with an Error or become samples of the model's shape.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "serve/protocol.h"

namespace {

void try_model(const evener::serving::InferRequest& request, bool is_bytes) {
  evener::serving::ServedModel model;
  model.shape = {1, 2, 2};
  model.is_bytes = is_bytes;
  model.pictures = evener::data::Preprocessing{.shape = {1, 2, 2}};
  model.outputs = {{"scores", {3}}};
  try {
    evener::serving::wanted_outputs(request, model);
    for (const evener::inference::SampleValues& sample : evener::serving::samples_of(request, model)) {
      if ((is_bytes ? sample.bytes.size() : sample.floats.size()) != 4) std::abort();
    }
  } catch (const evener::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t json_bytes = data[0] | data[1] << 8U;
  const std::string_view body(reinterpret_cast<const char*>(data) + 2, size - 2);
  try {
    const auto request = json_bytes == 0 ? evener::serving::parse_infer_request(body, {})
                                         : evener::serving::parse_infer_request(body, json_bytes);
    try_model(request, true);
    try_model(request, false);
  } catch (const evener::Error&) {
  }
  return 0;
}
