#include "quantize/values/precision.h"

#include <cmath>
#include <limits>

#include "detect/judge/average_precision.h"

namespace evener::quantization {

double precision_of(const inference::Probe& probe, const network::Network& network, const TensorMap& state,
                    const detection::Detector& detector, const detection::Photos& photos) {
  detection::DetectionTally tally(detector.classes().size());
  inference::observe_results(
      probe, network, state, {}, photos, photos.size(),
      [&](const TensorMap& results, std::span<const std::size_t> indices) {
        for (std::size_t i = 0; i < indices.size(); ++i) {
          inference::Prediction prediction{indices[i], {}};
          for (const auto& [output, values] : results) prediction.outputs[output] = inference::values_of(values, i);
          const auto truth = photos.truth(indices[i]).value_or(std::vector<detection::TrueBox>());
          tally.add(static_cast<std::int64_t>(indices[i]), detector.found(prediction, photos), truth);
        }
      });
  return detection::quality_of(tally).coco.ap_50.value_or(0);
}

void SignalToNoise::add(std::span<const float> wanted, std::span<const float> found) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double value = wanted[i], difference = value - static_cast<double>(found[i]);
    signal_ += value * value;
    noise_ += difference * difference;
  }
}

double SignalToNoise::decibels() const {
  return noise_ > 0 ? 10 * std::log10(signal_ / noise_) : std::numeric_limits<double>::infinity();
}

}  // namespace evener::quantization
