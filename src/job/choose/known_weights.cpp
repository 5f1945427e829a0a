#include "job/choose/known_weights.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "network/zoo.h"
#include "task/model_metadata.h"
#include "weights/weights_file.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

/// Of the values of the network's parameters the share that the file has, of the same names and shapes. Its last layer
/// may be for other classes.
double shared_values(const network::Network& network, const TensorMap& tensors) {
  double shared = 0, all = 0;
  for (const network::Parameter& parameter : network.parameters()) {
    const auto values = static_cast<double>(element_count(parameter.shape));
    const auto found = tensors.find(parameter.name);
    all += values;
    if (found != tensors.end() && found->second.shape == parameter.shape) shared += values;
  }
  return all > 0 ? shared / all : 0;
}

/// "" = none fits.
std::string network_with(const TensorMap& tensors) {
  constexpr double kNearlyAll = 0.99;
  for (const network::ModelInfo& model : network::known_models()) {
    if (model.name.find(':') != std::string::npos) continue;  // its sizes aren't known
    const network::Network network = network::build(model.name, {});
    const bool has_other_head = shared_values(network, tensors) < kNearlyAll;
    if (!has_other_head) return model.name;
    // The same with as many classes as the file has: of the last matrix that it holds.
    for (const char* head : {"fc.weight", "linear.weight", "classifier.1.weight", "classifier.3.weight"}) {
      const auto found = tensors.find(head);
      if (found == tensors.end() || found->second.shape.size() != 2) continue;
      network::ModelOptions options;
      options.classes = found->second.shape.front();
      if (shared_values(network::build(model.name, options), tensors) >= kNearlyAll) return model.name;
    }
  }
  return "";
}

}  // namespace

std::string detector_on(const std::string& classifier) {
  for (const network::ModelInfo& model : network::known_models()) {
    if (!classifier.empty() && network::classifier_of(model.name) == classifier) return model.name;
  }
  return "";
}

std::string network_of_weights(const fs::path& file, bool for_boxes) {
  std::string model;
  if (file.extension() == ".tflite") {
    model = "mobilenet_v2";  // the one whose models of TensorFlow Lite are read
  } else {
    const weights::SafetensorsFile read = weights::read_weights(file);
    model = task::model_facts(read.metadata).model;
    if (model.empty()) model = network_with(read.tensors);
  }
  if (model.empty()) {
    throw UsageError("which network the weights in '" + file.string() +
                     "' are of can't be told by their names and shapes; name it: evener train MODEL --weights ...");
  }
  if (!for_boxes || !network::classifier_of(model).empty()) return model;
  const std::string detector = detector_on(model);
  if (detector.empty()) {
    throw UsageError("the data has boxes, and no detector is built on " + model + ", whose weights '" + file.string() +
                     "' has; take those of mobilenet_v2 or mobilenet_v3_large, or a detector's");
  }
  return detector;
}

}  // namespace evener::job
