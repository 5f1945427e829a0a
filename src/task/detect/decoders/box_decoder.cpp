#include "task/detect/decoders/box_decoder.h"

#include "base/error.h"

namespace evener::task {

std::span<const float> output_of(const ImageOutputs& outputs, const std::string& name) {
  const auto found = outputs.find(name);
  if (found == outputs.end()) throw Error("the network gave no output '" + name + "'");
  return found->second;
}

}  // namespace evener::task
