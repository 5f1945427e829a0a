// `evener quantize`: a trained network with 8-bit weights and activations, compared with the float network.
#pragma once

#include <filesystem>

#include "base/this_work.h"
#include "job/detect/detection.h"
#include "job/observer.h"
#include "job/quantize/comparison.h"
#include "job/quantize/quantize_flags.h"
#include "run/metered_run.h"
#include "task/inference/inference_model.h"

namespace evener::job {

// The images of `evener quantize`: those for calibration, and those for evaluation.

/// The images for evaluation before and after quantisation, and those from which ranges are taken.
struct QuantizeImages {
  DetectImages evaluation, calibration;  // DetectImages::photos is set where the network is a detector
};

/// Opens the images that `flags` name. `calibrates`: whether images for calibration are needed. Sets the image options
/// of `flags.infer`. Throws UsageError and Error.
QuantizeImages open_quantize_images(QuantizeFlags& flags, const task::InferenceModel& network, bool calibrates,
                                    int threads);

struct QuantizedRun {
  record::Record record;
  QuantizeComparison comparison;  // before and after
  std::filesystem::path folder;   // of the quantised network
};

/// Sets options that were not given from the .toml file beside the network's file (take_sidecar()). Throws UsageError.
void complete(QuantizeFlags& flags);

/// Calibrates, quantises, and measures both networks. `flags` must be completed; options that depend on the network are
/// set here. `stop`: ends it in good order, as a signal does; null: signals alone. Throws UsageError, Error and
/// Interrupted.
QuantizedRun quantize(QuantizeFlags& flags, Observer& observer, const StopFlag* stop = nullptr);

/// The run around the quantising of `model`.
run::RunOptions run_options(const QuantizeFlags& flags, const placement::Plan& plan, const task::InferenceModel& model);

}  // namespace evener::job
