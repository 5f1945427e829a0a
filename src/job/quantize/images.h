// The images of `evener quantize`: those that calibrate, and those that are evaluated.
#pragma once

#include <string>

#include "job/detect/images.h"
#include "job/quantize/quantize_flags.h"
#include "task/inference/inference_model.h"

namespace evener::job {

/// What stands before and after quantisation, and what ranges are taken from.
struct QuantizeImages {
  DetectImages evaluation, calibration;  // with photos where the network is a detector whose photos they are
};

/// Opens what `flags` name. `calibrates`: whether ranges have to be found. Writes to the image options of
/// `flags.infer`. Throws UsageError and Error.
QuantizeImages open_quantize_images(QuantizeFlags& flags, const task::InferenceModel& network, bool calibrates,
                                    int threads);

}  // namespace evener::job
