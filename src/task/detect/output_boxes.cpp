#include "task/detect/output_boxes.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/error.h"
#include "task/detect/decoders/anchors.h"

namespace evener::task {
namespace {

/// What an output has of one image.
std::span<const float> of_image(const HostTensor& output, std::size_t image) {
  const auto values = static_cast<std::size_t>(element_count(output.shape) / output.shape.front());
  return {output.floats() + image * values, values};
}

std::size_t index_of(const network::Network& network, const char* name) {
  const auto& outputs = network.outputs();
  const auto found = std::ranges::find(outputs, name, &network::Output::name);
  if (found == outputs.end()) throw Error(network.model() + " has no output '" + name + "', which detectors have");
  return static_cast<std::size_t>(found - outputs.begin());
}

}  // namespace

OutputBoxes::OutputBoxes(const network::Network& network, DecodeOptions options)
    : anchors_(network.anchors()),
      boxes_(index_of(network, "boxes")),
      scores_(index_of(network, "scores")),
      height_(static_cast<float>(network.input_shape()[1])),
      width_(static_cast<float>(network.input_shape()[2])),
      options_(std::move(options)) {}

std::vector<Detection> OutputBoxes::found(const std::vector<HostTensor>& outputs, std::size_t image) const {
  return decode(of_image(outputs.at(boxes_), image), of_image(outputs.at(scores_), image), anchors_, width_, height_,
                options_);
}

}  // namespace evener::task
