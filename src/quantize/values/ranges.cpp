#include "quantize/values/ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "base/names.h"
#include "network/quantization.h"

namespace evener::quantization {
namespace {

constexpr const char* kNames[] = {"minmax", "percentile", "entropy", "mse"};

/// Entropy: the count of an empty level, so that its logarithm stays finite.
constexpr double kLeastCount = 1e-4;

float percentile_range(const MagnitudeHistogram& seen, double percentile) {
  const double wanted = percentile / 100 * static_cast<double>(seen.count());
  auto below = static_cast<double>(seen.zeros());
  for (std::size_t i = 0; i < seen.bins().size(); ++i) {
    below += static_cast<double>(seen.bins()[i]);
    if (below >= wanted)
      return std::min(seen.largest(), static_cast<float>(seen.bin_width() * static_cast<double>(i + 1)));
  }
  return seen.largest();
}

double squared_error(const MagnitudeHistogram& seen, network::Levels levels, float range) {
  const float scale = range / levels.most;
  double sum = 0;
  for (std::size_t i = 0; i < seen.bins().size(); ++i) {
    if (seen.bins()[i] == 0) continue;
    const auto middle = static_cast<float>(seen.bin_width() * (static_cast<double>(i) + 0.5));
    const double error = static_cast<double>(network::fake_quantized(middle, scale, levels)) - middle;
    sum += static_cast<double>(seen.bins()[i]) * error * error;
  }
  return sum;
}

/// The Kullback-Leibler divergence of the first `kept` bins, with all that lies beyond in the last of them, from the
/// same in `levels` steps. A step's count is spread over those of its bins that have any; where all that the last step
/// has lies beyond, it counts as kLeastCount, without which the divergence would be endless or leave it out.
double divergence(const std::vector<std::int64_t>& bins, std::size_t kept, std::size_t levels) {
  std::vector<double> reference(bins.begin(), bins.begin() + static_cast<std::ptrdiff_t>(kept));
  double beyond = 0;
  for (std::size_t i = kept; i < bins.size(); ++i) beyond += static_cast<double>(bins[i]);
  double inside = 0;
  for (const double count : reference) inside += count;
  const double total = inside + beyond;
  if (inside == 0) return std::numeric_limits<double>::infinity();
  const auto count_of = [&](std::size_t i) { return reference[i] + (i + 1 == kept ? beyond : 0); };
  double sum = 0;
  for (std::size_t level = 0; level < levels; ++level) {
    const std::size_t begin = level * kept / levels, end = (level + 1) * kept / levels;
    double in_step = 0;
    std::size_t filled = 0;
    for (std::size_t i = begin; i < end; ++i) {
      in_step += reference[i];
      filled += count_of(i) > 0 ? 1 : 0;
    }
    for (std::size_t i = begin; i < end; ++i) {
      if (count_of(i) == 0) continue;
      const double p = count_of(i) / total;
      const double q = std::max(in_step / static_cast<double>(filled), kLeastCount) / inside;
      sum += p * std::log(p / q);
    }
  }
  return sum;
}

float entropy_range(const MagnitudeHistogram& seen, network::Levels levels) {
  const auto steps = static_cast<std::size_t>(levels.most) + 1;
  const auto last = static_cast<std::size_t>(std::ceil(static_cast<double>(seen.largest()) / seen.bin_width()));
  double least = std::numeric_limits<double>::infinity();
  std::size_t best = std::min(last, seen.bins().size());
  for (std::size_t kept = steps; kept <= std::min(last, seen.bins().size()); kept += 4) {
    const double found = divergence(seen.bins(), kept, steps);
    if (found < least) {
      least = found;
      best = kept;
    }
  }
  return std::min(seen.largest(), static_cast<float>(seen.bin_width() * static_cast<double>(best)));
}

/// Of so many hundredths of `whole`, from all to `fewest`, the share with the least error.
template <class ErrorOf>
float least_wrong_share(float whole, int fewest, const ErrorOf& error_of) {
  float best = whole;
  double least = std::numeric_limits<double>::infinity();
  for (int tried = 100; tried >= fewest; --tried) {
    const float share = whole * static_cast<float>(tried) / 100;
    const double error = error_of(share);
    if (error < least) {
      least = error;
      best = share;
    }
  }
  return best;
}

constexpr int kManyBits = 7;

double squared_error(std::span<const float> values, float scale, network::Levels levels) {
  double sum = 0;
  for (const float value : values) {
    const double error = static_cast<double>(network::fake_quantized(value, scale, levels)) - value;
    sum += error * error;
  }
  return sum;
}

float scale_of(std::span<const float> values, int bits) {
  const network::Levels levels = network::weight_levels(bits);
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  if (largest == 0) return 1;
  const float all = std::max(largest / levels.most, network::kLeastScale);
  if (bits >= kManyBits) return all;
  const auto usable = [](float scale) { return std::max(scale, network::kLeastScale); };
  const auto error_of = [&](float scale) { return squared_error(values, usable(scale), levels); };
  return usable(least_wrong_share(all, 30, error_of));
}

}  // namespace

Calibration parse_calibration(const std::string& name) {
  return value_named<Calibration>(kNames, "calibration", name);
}

void MagnitudeHistogram::add(std::span<const float> values) {
  for (const float value : values) {
    const float magnitude = std::abs(value);
    if (!std::isfinite(magnitude)) {
      ++not_finite_;
      continue;
    }
    ++count_;
    if (magnitude == 0) {
      ++zeros_;
      continue;
    }
    if (magnitude > largest_) reach(magnitude);
    const auto bin = static_cast<std::size_t>(static_cast<double>(magnitude) / bin_width_);
    ++bins_[std::min(bin, kBins - 1)];
  }
}

/// Makes room for a larger value: bins become twice as wide, so two and two of them become one.
void MagnitudeHistogram::reach(float magnitude) {
  largest_ = magnitude;
  if (bins_.empty()) {
    bins_.assign(kBins, 0);
    bin_width_ = static_cast<double>(magnitude) / kBins;
  }
  while (magnitude > bin_width_ * kBins) {
    for (std::size_t i = 0; i < kBins / 2; ++i) bins_[i] = bins_[2 * i] + bins_[2 * i + 1];
    std::fill(bins_.begin() + kBins / 2, bins_.end(), 0);
    bin_width_ *= 2;
  }
}

float range_of(const MagnitudeHistogram& seen, network::Levels levels, const RangeRule& rule) {
  if (seen.bins().empty()) return 0;
  switch (rule.calibration) {
    case Calibration::kMinMax:
      break;
    case Calibration::kPercentile:
      return percentile_range(seen, rule.percentile);
    case Calibration::kEntropy:
      return entropy_range(seen, levels);
    case Calibration::kMse:
      return least_wrong_share(seen.largest(), 10, [&](float range) { return squared_error(seen, levels, range); });
  }
  return seen.largest();
}

HostTensor weight_scales(const HostTensor& weight, int bits) {
  const auto channels = static_cast<std::size_t>(weight.shape.front());
  const std::size_t each = static_cast<std::size_t>(element_count(weight.shape)) / channels;
  std::vector<float> scales;
  for (std::size_t c = 0; c < channels; ++c) scales.push_back(scale_of({weight.floats() + c * each, each}, bits));
  return HostTensor::of_floats({weight.shape.front()}, scales);
}

}  // namespace evener::quantization
