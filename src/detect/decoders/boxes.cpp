#include "detect/decoders/boxes.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/error.h"
#include "detect/decoders/anchors.h"

namespace evener::detection {
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

std::vector<Detection> on_photo(std::vector<Detection> detections, const PhotoPlace& place, float width, float height) {
  for (Detection& box : detections) {
    box.x1 = (box.x1 - place.left) / place.scale_x, box.x2 = (box.x2 - place.left) / place.scale_x;
    box.y1 = (box.y1 - place.top) / place.scale_y, box.y2 = (box.y2 - place.top) / place.scale_y;
    clip(box, width, height);
  }
  std::erase_if(detections, [](const Detection& box) { return !has_area(box); });
  return detections;
}

data::BoxedFile boxed_file(const FoundBoxes& found, float least) {
  data::BoxedFile file{found.file, found.size.width, found.size.height, 3, {}, {}};
  for (const Detection& box : found.boxes) {
    if (box.score < least) continue;
    file.boxes.push_back({box.x1, box.y1, box.x2, box.y2, box.label});
    file.scores.push_back(box.score);
  }
  return file;
}

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

}  // namespace evener::detection
