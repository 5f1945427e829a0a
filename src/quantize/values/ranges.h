// Chooses the range of quantised activations from a histogram of the magnitudes that calibration saw, and the scales of
// quantised weights, one for each output channel.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "network/quantization.h"

namespace evener::quantization {

/// How the range is chosen. Values beyond the range are clipped to the largest level.
enum class Calibration : std::uint8_t {
  kMinMax,      // up to the largest magnitude
  kPercentile,  // up to a percentile of the magnitudes
  kEntropy,     // the one that loses the least information (Kullback-Leibler divergence; Migacz 2017)
  kMse,         // the one with the least mean squared error
};
/// Parses "minmax", "percentile", "entropy" or "mse". Throws UsageError, naming the nearest.
Calibration parse_calibration(const std::string& name);

/// A histogram of magnitudes in bins of equal width; the width doubles when a larger value comes.
class MagnitudeHistogram {
 public:
  static constexpr std::size_t kBins = 2048;

  void add(std::span<const float> values);

  float largest() const { return largest_; }
  std::int64_t count() const { return count_; }                    // of all values
  std::int64_t zeros() const { return zeros_; }                    // which are in no bin
  std::int64_t not_finite() const { return not_finite_; }          // NaN and infinities, which are counted nowhere else
  const std::vector<std::int64_t>& bins() const { return bins_; }  // empty: there were zeros alone
  double bin_width() const { return bin_width_; }

 private:
  void reach(float magnitude);

  std::vector<std::int64_t> bins_;
  double bin_width_ = 0;
  float largest_ = 0;
  std::int64_t count_ = 0, zeros_ = 0, not_finite_ = 0;
};

struct RangeRule {
  Calibration calibration = Calibration::kMse;
  double percentile = 99.99;  // of kPercentile, in percent
};

/// The range by `rule`: the magnitude that becomes the largest of `levels`; 0 where all values were zero.
float range_of(const MagnitudeHistogram& seen, network::Levels levels, const RangeRule& rule);

/// The scales, (O) in float32, of `weight` (O, ...). With 7 bits and more the largest weight of a channel becomes the
/// largest level; with fewer it may be clipped, where that gives a smaller mean squared error. A channel of zeros has
/// the scale 1.
HostTensor weight_scales(const HostTensor& weight, int bits);

}  // namespace evener::quantization
