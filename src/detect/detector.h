// A network that finds objects, with the conversion of its outputs to boxes on photos.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "detect/decoders/boxes.h"
#include "detect/decoders/detection.h"
#include "detect/photos.h"
#include "infer/model/inference_model.h"
#include "infer/run/infer.h"

namespace evener::detection {

class Detector {
 public:
  /// Throws UsageError where `model` is no detector, or doesn't take images.
  Detector(const inference::InferenceModel& model, DecodeOptions options);

  /// Names of all classes, as many as the network has.
  const std::vector<std::string>& classes() const { return classes_; }
  const DecodeOptions& options() const { return options_; }

  /// The boxes found on the photo of `prediction`, in the photo's pixels, the likeliest first. Throws Error where
  /// a box has a class or a score outside of the recognised range.
  std::vector<Detection> found(const inference::Prediction& prediction, const Photos& photos) const;
  /// The same of a photo that was shown to the network by `steps`. Thread-safe.
  std::vector<Detection> found(const ImageOutputs& outputs, const PhotoSize& photo,
                               const data::Preprocessing& steps) const;

 private:
  const std::string name_;
  const DecodeOptions options_;
  std::vector<std::string> classes_;
  std::shared_ptr<const BoxDecoder> decoder_;
};

/// The indices of the classes that a user names, by name or by number from 0. Throws UsageError, naming the nearest.
std::vector<std::int32_t> wanted_labels(const std::vector<std::string>& wanted,
                                        const std::vector<std::string>& classes);

/// Names of the classes of a detector; "class 7" and so on where its file has none. Throws UsageError where it is no
/// detector.
std::vector<std::string> detector_classes(const inference::InferenceModel& model);

/// NMS as the detector's family does it, and otherwise the defaults. Throws UsageError where it is no detector.
DecodeOptions usual_decoding(const inference::InferenceModel& model);

/// Makes the function for InferenceRequest::study that recognises detectors in files of other programs. `decoder`: the
/// only one that is tried; empty = any. Throws UsageError for an unknown name.
inference::FileStudy detector_study(const std::string& decoder);

/// "YOLOX, 80 classes by COCO's order, whole images in the upper left corner of 416x416, on grey 114, 0 to 255, BGR",
/// for a detector in another program's file; "" for ours.
std::string understood_text(const inference::InferenceModel& model, const data::Preprocessing& steps);

}  // namespace evener::detection
