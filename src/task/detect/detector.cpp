#include "task/detect/detector.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/numbers.h"

namespace evener::task {
namespace {

[[noreturn]] void refuse(const InferenceModel& model) {
  throw UsageError("'" + model.name() +
                   "' is no detector: it has no anchors that boxes could start from. Give the folder of a run that "
                   "trained one, or a network such as ssdlite320_mobilenet_v3_large");
}

}  // namespace

std::vector<std::string> detector_classes(const InferenceModel& model) {
  const network::Network* network = model.network();
  if (network == nullptr || network->anchors().empty()) refuse(model);
  const auto scores = std::ranges::find(network->outputs(), "scores", &network::Output::name);
  if (scores == network->outputs().end()) refuse(model);
  const auto count = static_cast<std::size_t>(network->output_shape(*scores).back() - 1);
  std::vector<std::string> classes = model.classes();
  if (!classes.empty() && classes.size() != count) {
    throw UsageError("'" + model.name() + "' tells " + std::to_string(count) + " classes apart, but there are " +
                     std::to_string(classes.size()) + " names of classes");
  }
  for (std::size_t i = classes.size(); i < count; ++i) classes.push_back("class " + std::to_string(i));
  return classes;
}

std::vector<std::int32_t> wanted_labels(const std::vector<std::string>& wanted,
                                        const std::vector<std::string>& classes) {
  std::vector<std::int32_t> labels;
  for (const std::string& name : wanted) {
    auto place = static_cast<std::size_t>(std::ranges::find(classes, name) - classes.begin());
    if (place == classes.size()) place = to_number<std::size_t>(name).value_or(place);
    if (place >= classes.size()) throw UsageError(unknown_name_message("class", name, classes));
    labels.push_back(static_cast<std::int32_t>(place));
  }
  return labels;
}

Detector::Detector(const InferenceModel& model, DecodeOptions options)
    : model_(model), options_(std::move(options)), classes_(detector_classes(model)) {}

std::vector<Detection> Detector::found(const Prediction& prediction, const Photos& photos) const {
  const auto width = static_cast<float>(photos.shape()[2]), height = static_cast<float>(photos.shape()[1]);
  std::vector<Detection> boxes = decode(prediction.outputs.at("boxes"), prediction.outputs.at("scores"),
                                        model_.network()->anchors(), width, height, options_);
  const PhotoSize size = photos.photo_size(prediction.index);
  return on_photo(std::move(boxes), photos.place(prediction.index), static_cast<float>(size.width),
                  static_cast<float>(size.height));
}

}  // namespace evener::task
