// A network that finds objects, with the conversion of its outputs to boxes on photos.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "task/detect/decode.h"
#include "task/detect/photos.h"
#include "task/inference/infer.h"
#include "task/inference/inference_model.h"

namespace evener::task {

class Detector {
 public:
  /// `model` must outlive the detector. Throws UsageError where it is no detector, or doesn't take images.
  Detector(const InferenceModel& model, DecodeOptions options);

  /// Names of all classes, as many as the network has.
  const std::vector<std::string>& classes() const { return classes_; }
  const DecodeOptions& options() const { return options_; }

  /// The boxes found on the photo of `prediction`, in the photo's pixels, the likeliest first.
  std::vector<Detection> found(const Prediction& prediction, const Photos& photos) const;

 private:
  const InferenceModel& model_;
  const DecodeOptions options_;
  std::vector<std::string> classes_;
};

/// The indices of the classes that a user names, by name or by number from 0. Throws UsageError, naming the nearest.
std::vector<std::int32_t> wanted_labels(const std::vector<std::string>& wanted,
                                        const std::vector<std::string>& classes);

/// Names of the classes of a detector; "class 7" and so on where its file has none. Throws UsageError where it is no
/// detector.
std::vector<std::string> detector_classes(const InferenceModel& model);

}  // namespace evener::task
