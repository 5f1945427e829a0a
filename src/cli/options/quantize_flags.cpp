#include "cli/options/quantize_flags.h"

#include "base/int8_products.h"

namespace evener::cli {

task::QuantizeOptions QuantizationFlags::options(std::int64_t images) const {
  task::QuantizeOptions options;
  options.ranges = {task::parse_calibration(*calibration), *percentile};
  options.weight_bits = *weight_bits == "auto" ? (has_int8_products() ? 8 : 7) : std::stoi(*weight_bits);
  options.bias_correction = !*no_bias_correction;
  options.images = static_cast<std::size_t>(images);
  return options;
}

}  // namespace evener::cli
