#include "detect/options.h"

#include <algorithm>
#include <memory>
#include <sstream>

#include "base/error.h"
#include "detect/detector.h"
#include "infer/model/published_weights.h"

namespace evener::detection {
namespace {

/// The least confidence with which people look at boxes, and with which precision is measured over all recalls.
constexpr double kToLook = 0.3, kToEvaluate = 0.001;

std::vector<std::string> comma_list(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
  return words;
}

}  // namespace

DetectModelFlags::DetectModelFlags()
    : inference::TrainedModelFlags(
          {"MODEL", "NAME|DIR|FILE",
           "The folder of a training or of evener quantize, a file .safetensors, .onnx, .xml or .tflite, "
           "or a detector of the zoo: ssdlite_mobilenet_v2, ssdlite320_mobilenet_v3_large"},
          "Weights of a network of the zoo: safetensors, or a state dict saved by PyTorch") {}

inference::InferenceRequest DetectModelFlags::request() const {
  inference::InferenceRequest request = request_of_all();
  request.study = detector_study(*decoder);
  return request;
}

void DetectImagesFlags::check_together() const {
  if (!images->empty() && !data->empty()) {
    throw UsageError("IMAGES and --data both name what is looked at: give one of them");
  }
  if (!images->empty() && (!part->empty() || !split->empty())) {
    throw UsageError("--part and --split are for data with boxes (--data), not for photos");
  }
}

DecodeOptions DetectBoxesFlags::options(bool labelled, const std::vector<std::string>& names,
                                        const DecodeOptions& usual) const {
  const float told = least_to_tell();
  DecodeOptions options = usual;
  options.confidence = labelled ? std::min(told, static_cast<float>(kToEvaluate)) : told;
  if (*iou) options.iou = static_cast<float>(**iou);
  options.most = static_cast<std::size_t>(*max_boxes);
  options.labels = wanted_labels(comma_list(*only), names);
  return options;
}

float DetectBoxesFlags::least_to_tell() const {
  return static_cast<float>(confidence->value_or(kToLook));
}

void DetectOutputFlags::check_together() const {
  const bool needs_folder = *format == "voc" || *format == "yolo" || *save;
  if (needs_folder && out->empty()) {
    throw UsageError((*save ? std::string("--save") : "--format " + *format) +
                     " writes a file for each photo: give it a folder with --out DIR");
  }
  const bool is_silent = format->empty() || *format == "none" || *format == "voc" || *format == "yolo";
  if (*json == "-" && !is_silent) {
    throw UsageError("--json - and --format " + *format + " would both write to stdout: give one");
  }
}

void complete(DetectFlags& flags, measure::Observer* observer) {
  inference::take_weights(flags.model.weights, &flags.model.normalize, *flags.model.model, observer);
}

MeasuredCommand measured_detect() {
  return measured_with(std::make_shared<DetectFlags>(), "detect");
}

}  // namespace evener::detection
