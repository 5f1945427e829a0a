#include "serve/box_outputs.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

namespace evener::serving {
namespace {

constexpr const char *kCount = "num_dets", *kBoxes = "det_boxes", *kScores = "det_scores", *kClasses = "det_classes",
                     *kNames = "det_names";

HostTensor whole_numbers(std::vector<std::int64_t> shape, const std::vector<std::int32_t>& values) {
  HostTensor tensor{.dtype = DType::kI32, .shape = std::move(shape), .bytes = {}};
  const auto bytes = std::as_bytes(std::span(values));
  tensor.bytes.assign(bytes.begin(), bytes.end());
  return tensor;
}

}  // namespace

std::vector<ServedOutput> box_outputs() {
  return {{kCount, {1}, "INT32"},
          {kBoxes, {-1, 4}, "FP32"},
          {kScores, {-1}, "FP32"},
          {kClasses, {-1}, "INT32"},
          {kNames, {-1}, "BYTES"}};
}

ToldOutput ServedBoxes::told(const WantedOutput& wanted) const {
  if (wanted.name == kNames) return {wanted, &tensors.at(kClasses), &names};
  const auto found = tensors.find(wanted.name);
  return {wanted, found == tensors.end() ? nullptr : &found->second};
}

ServedBoxes served_boxes(const detection::Detector& detector, const TensorMap& outputs,
                         const std::vector<detection::PhotoSize>& photos, const data::Preprocessing& steps) {
  std::vector<std::vector<detection::Detection>> found;
  std::size_t most = 0;
  for (std::size_t i = 0; i < photos.size(); ++i) {
    detection::ImageOutputs of_image;
    for (const auto& [name, output] : outputs) {
      const auto each = static_cast<std::size_t>(element_count(output.shape)) / photos.size();
      of_image[name] = {output.floats() + i * each, each};
    }
    found.push_back(detector.found(of_image, photos[i], steps));
    most = std::max(most, found.back().size());
  }
  ServedBoxes served;
  served.names.resize(photos.size() * most);
  std::vector<float> corners(4 * served.names.size()), scores(served.names.size());
  std::vector<std::int32_t> counts, classes(served.names.size(), -1);
  for (std::size_t i = 0; i < photos.size(); ++i) {
    counts.push_back(static_cast<std::int32_t>(found[i].size()));
    for (std::size_t b = 0; b < found[i].size(); ++b) {
      const detection::Detection& box = found[i][b];
      const std::size_t place = i * most + b;
      std::ranges::copy(std::array{box.x1, box.y1, box.x2, box.y2}, &corners[4 * place]);
      scores[place] = box.score;
      classes[place] = box.label;
      served.names[place] = detector.classes()[static_cast<std::size_t>(box.label)];
    }
  }
  const auto images = std::ssize(photos), each = static_cast<std::ptrdiff_t>(most);
  served.tensors[kCount] = whole_numbers({images, 1}, counts);
  served.tensors[kBoxes] = HostTensor::of_floats({images, each, 4}, corners);
  served.tensors[kScores] = HostTensor::of_floats({images, each}, scores);
  served.tensors[kClasses] = whole_numbers({images, each}, classes);
  return served;
}

}  // namespace evener::serving
