// How far quantised activations reach: from a histogram of the magnitudes that calibration saw to a range.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "network/quantization.h"

namespace evener::task {

/// Which range of the values that were seen is kept; what lies beyond becomes the largest level.
enum class Calibration : std::uint8_t {
  kMinMax,      // all of it
  kPercentile,  // that of a percentile of the magnitudes
  kEntropy,     // after which the distribution has lost the least information (Kullback-Leibler; Migacz 2017)
  kMse,         // with the least mean squared error
};
/// Of "minmax", "percentile", "entropy" or "mse". Throws UsageError, naming the nearest.
Calibration parse_calibration(const std::string& name);

/// Magnitudes of values in bins of one width, which doubles when larger values come.
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

/// The magnitude that the largest of `levels` stands for; 0 where all values were zero.
float range_of(const MagnitudeHistogram& seen, network::Levels levels, const RangeRule& rule);

}  // namespace evener::task
