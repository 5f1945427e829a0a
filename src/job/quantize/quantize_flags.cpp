#include "job/quantize/quantize_flags.h"

#include <nlohmann/json.hpp>

#include "base/simd_level.h"
#include "job/options/data_flags.h"

namespace evener::job {

CalibrationDataFlags::CalibrationDataFlags() : OptionGroup("Data") {
  // As trainings have it: 'evener infer RUN' divides the data so.
  split.record_as([this](nlohmann::json& value) {
    if (!split->empty()) value = parse_split(*split);
  });
}

OptionSet QuantizeFlags::options() {
  OptionSet all{&infer.model, &data, &quantization, &infer.placement, &output, &energy};
  // The network is shown as it is; what comes of it is calibrated anew.
  all.leave_out([&](const OptionBase& option) { return &option == &infer.model.uncalibrated; });
  return all;
}

QuantizeFlags::QuantizeFlags() {
  infer.model.model.explain(
      "What becomes int8: the folder of a training, its .safetensors, another program's .onnx, .tflite or .xml, or a "
      "network of the zoo with --weights");
}

task::QuantizeOptions QuantizationFlags::options(std::int64_t images) const {
  task::QuantizeOptions options;
  options.ranges = {task::parse_calibration(*calibration), *percentile};
  options.weight_bits = *weight_bits == "auto" ? (has_int8_products() ? 8 : 7) : std::stoi(*weight_bits);
  options.bias_correction = !*no_bias_correction;
  options.images = static_cast<std::size_t>(images);
  return options;
}

}  // namespace evener::job
