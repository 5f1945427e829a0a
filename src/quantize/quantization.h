// `evener quantize`: a trained network with 8-bit weights and activations, compared with the float network.
#pragma once

#include <filesystem>

#include "base/this_work.h"
#include "data/locations.h"
#include "detect/detect.h"
#include "infer/model/inference_model.h"
#include "infer/session/options.h"
#include "measure/run/metered_run.h"
#include "measure/run/observer.h"
#include "options/measured_command.h"
#include "options/run_flags.h"
#include "quantize/comparison.h"
#include "quantize/values/quantizer.h"

namespace evener::quantization {

/// The data for calibration and for measuring accuracy.
struct CalibrationDataFlags : OptionGroup {
  CalibrationDataFlags();

  Option<std::string> data{*this, "--data DATA", OptionRules{.joint = data::kLocationJoint},
                           "Images, as train and infer take them: its training part calibrates, its test part (or "
                           "without one its validation part) is evaluated (default: the data of the run)"};
  Option<std::string> calibration_data{*this, "--calibration-data DATA", OptionRules{.joint = data::kLocationJoint},
                                       "Other images to calibrate with; all of --data is evaluated then"};
  Option<std::int64_t> images{*this, "--images N", 300, within(from_to(1, 1000000)), "Most images to calibrate with"};
  Option<std::string> split{*this, "--split TRAIN/VALIDATION/TEST",
                            "Percent, of data that comes undivided (default: as the run's)"};
  Option<std::optional<std::int64_t>> seed{*this, "--seed N", within(zero_or_more()),
                                           "Of the split (default: the run's)"};
};

/// How values are quantised.
struct QuantizationFlags : OptionGroup {
  QuantizationFlags() : OptionGroup("Quantisation") {}

  Option<std::string> calibration{*this, "--calibration NAME", "mse",
                                  one_of({"mse", "minmax", "percentile", "entropy"}),
                                  "Ranges of activations: mse, minmax, percentile, entropy"};
  Option<Percentage> percentile{*this,
                                "--percentile P%",
                                {99.99},
                                within(percent_from_to(50, 100)),
                                "Of magnitudes, that --calibration percentile keeps"};
  Option<std::string> weight_bits{*this, "--weight-bits BITS", "auto", one_of({"auto", "8", "7", "6", "5", "4"}),
                                  "8; 7 for processors without int8 dot products; 4 to 6 for smaller weights; auto: 8 "
                                  "or 7, as this processor needs"};
  Option<std::vector<std::string>> keep{
      *this, "--keep LAYER",
      "Layers that stay in float, by a pattern of their names, or first, or last; may be repeated"};
  Option<std::optional<Percentage>> accuracy_drop{
      *this, "--accuracy-drop P%", within(percent_from_to(0, 100)),
      "Keep as few of the most sensitive layers in float as are needed to lose at most so many percentage points of "
      "accuracy, or of mAP@0.5 of a detector"};
  Option<bool> no_bias_correction{*this, "--no-bias-correction",
                                  "Leave biases as they are, whatever rounding weights does to means"};

  QuantizeOptions options(std::int64_t images) const;
  /// --accuracy-drop as a share; 0 where it isn't given.
  double most_lost() const { return accuracy_drop->value_or(Percentage()).share(); }
};

struct QuantizeOutputFlags : OutputFlags {
  QuantizeOutputFlags()
      : OutputFlags(
            "Folder for quantized.safetensors (.onnx of another program's file), layers.csv and the record "
            "(default: runs/MODEL-TIME)",
            "Write the record there; - is stdout") {}

  Option<double> seconds{*this, "--seconds SECONDS", 1, within(more_than_zero()).not_recorded(),
                         "How long each speed is measured"};
};

struct QuantizeFlags {
  QuantizeFlags();

  inference::InferenceFlags infer;  // its network and placement are options; its images are filled in
  CalibrationDataFlags data;
  QuantizationFlags quantization;
  QuantizeOutputFlags output;
  EnergyFlags energy;

  OptionSet options();
  std::vector<const OptionGroup*> groups() const { return {&infer.model, &data, &quantization, &infer.placement}; }
};

/// The images for evaluation before and after quantisation, and those from which ranges are taken.
struct QuantizeImages {
  detection::DetectImages evaluation, calibration;  // DetectImages::photos is set where the network is a detector
};

/// Opens the images that `flags` name. `calibrates`: whether images for calibration are needed. Sets the image options
/// of `flags.infer`. Throws UsageError and Error.
QuantizeImages open_quantize_images(QuantizeFlags& flags, const inference::InferenceModel& network, bool calibrates,
                                    int threads);

struct QuantizedRun {
  record::Record record;
  QuantizeComparison comparison;  // before and after
  std::filesystem::path folder;   // of the quantised network
};

/// See complete(InferModelFlags&, Observer*).
void complete(QuantizeFlags& flags, measure::Observer* observer);

/// Calibrates, quantises, and measures both networks. `flags` must be completed; options that depend on the network are
/// set here. `stop`: ends it in good order, as a signal does; null: signals alone. Throws UsageError, Error and
/// Interrupted.
QuantizedRun quantize(QuantizeFlags& flags, measure::Observer& observer, const StopFlag* stop = nullptr);

/// The run around the quantising of `model`.
measure::RunOptions run_options(const QuantizeFlags& flags, const placement::Plan& plan,
                                const inference::InferenceModel& model);

/// `evener quantize` as a sweep runs it.
MeasuredCommand measured_quantize();

}  // namespace evener::quantization
