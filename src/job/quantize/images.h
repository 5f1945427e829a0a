// The images of `evener quantize`: those for calibration, and those for evaluation.
#pragma once

#include <string>

#include "job/detect/images.h"
#include "job/quantize/quantize_flags.h"
#include "task/inference/inference_model.h"

namespace evener::job {

/// The images for evaluation before and after quantisation, and those from which ranges are taken.
struct QuantizeImages {
  DetectImages evaluation, calibration;  // DetectImages::photos is set where the network is a detector
};

/// Opens the images that `flags` name. `calibrates`: whether images for calibration are needed. Sets the image options
/// of `flags.infer`. Throws UsageError and Error.
QuantizeImages open_quantize_images(QuantizeFlags& flags, const task::InferenceModel& network, bool calibrates,
                                    int threads);

}  // namespace evener::job
