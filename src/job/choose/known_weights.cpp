#include "job/choose/known_weights.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "network/zoo.h"
#include "task/fitting.h"
#include "task/model_metadata.h"
#include "weights/weights_file.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

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
    const auto fitting = model.empty() ? task::fitting_networks(read) : std::vector<task::FittingNetwork>();
    if (!fitting.empty()) model = fitting.front().model;
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
