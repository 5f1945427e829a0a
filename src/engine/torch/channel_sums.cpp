#include "engine/torch/channel_sums.h"

#include <algorithm>
#include <functional>

#include "base/error.h"

namespace evener::engine::torch_engine {
namespace {

Moments moments_here(const ChannelSums& sums, const std::vector<float>& pivot, double count) {
  Moments moments;
  moments.count = count;
  for (std::size_t c = 0; c < pivot.size(); ++c) {
    const double offset = sums.first[c] / count;
    moments.mean.push_back(pivot[c] + offset);
    moments.variance.push_back(std::max(0.0, sums.second[c] / count - offset * offset));
  }
  return moments;
}

/// Each replica has its own pivot, so sums of x and x^2 without a pivot are exchanged. In double, of 16 digits, the
/// variance loses as many as (mean / deviation)^2 has: all of float32's 7 digits are left up to a mean of 10^4
/// deviations.
Moments moments_everywhere(const ChannelSums& sums, const std::vector<float>& pivot, double rows,
                           const Replicas& replicas) {
  const std::size_t channels = pivot.size();
  std::vector<double> totals(2 * channels + 1, 0);
  if (!replicas.absent) {
    for (std::size_t c = 0; c < channels; ++c) {
      const double p = pivot[c];
      totals[c] = rows * p + sums.first[c];
      totals[channels + c] = sums.second[c] + 2 * p * sums.first[c] + rows * p * p;
    }
    totals.back() = rows;
  }
  replicas.sum(totals);
  Moments moments;
  moments.count = totals.back();
  for (std::size_t c = 0; c < channels; ++c) {
    const double mean = totals[c] / moments.count;
    moments.mean.push_back(mean);
    moments.variance.push_back(std::max(0.0, totals[channels + c] / moments.count - mean * mean));
  }
  return moments;
}

}  // namespace

ChannelSums& ChannelSums::operator+=(const ChannelSums& other) {
  std::ranges::transform(first, other.first, first.begin(), std::plus());
  std::ranges::transform(second, other.second, second.begin(), std::plus());
  return *this;
}

void require_variance(double count, const Replicas* replicas, const std::string& layer) {
  if (count >= 2) return;
  throw Error("batch-norm layer '" + layer + "' has " + std::to_string(static_cast<std::int64_t>(count)) +
              " value(s) per channel in this batch" + (replicas != nullptr ? ", all replicas taken together" : "") +
              ", too few for a variance. Use another --batch or a larger --size");
}

Moments moments_of(const ChannelSums& sums, const std::vector<float>& pivot, std::int64_t rows,
                   const Replicas* replicas, const std::string& layer) {
  const auto count = static_cast<double>(rows);
  Moments moments =
      replicas != nullptr ? moments_everywhere(sums, pivot, count, *replicas) : moments_here(sums, pivot, count);
  require_variance(moments.count, replicas, layer);
  return moments;
}

ChannelSums over_replicas(const ChannelSums& sums, const Replicas& replicas) {
  const std::size_t channels = sums.first.size();
  std::vector<double> totals(2 * channels, 0);
  if (!replicas.absent) {
    std::copy(sums.first.begin(), sums.first.end(), totals.begin());
    std::copy(sums.second.begin(), sums.second.end(), totals.begin() + static_cast<std::ptrdiff_t>(channels));
  }
  replicas.sum(totals);
  const auto middle = totals.begin() + static_cast<std::ptrdiff_t>(channels);
  return {{totals.begin(), middle}, {middle, totals.end()}};
}

}  // namespace evener::engine::torch_engine
