#include "measure/power_curve.h"

#include <algorithm>
#include <cmath>

namespace evener::measure {

void PowerCurve::add(double from_s, double to_s, double joules) {
  constexpr double kMostBins = 2048;
  if (to_s <= from_s) return;
  if (bins_.empty()) {
    origin_s_ = begin_s_ = from_s;
  }
  for (; to_s - origin_s_ >= kMostBins * width_s_; width_s_ *= 2) {
    const std::size_t merged = (bins_.size() + 1) / 2;
    for (std::size_t n = 0; n < merged; ++n) {
      Bin pair = bins_[2 * n];
      if (2 * n + 1 < bins_.size()) {
        pair.joules += bins_[2 * n + 1].joules;
        pair.seconds += bins_[2 * n + 1].seconds;
      }
      bins_[n] = pair;
    }
    bins_.resize(merged);
  }
  const auto first = static_cast<std::size_t>(std::max(0.0, from_s - origin_s_) / width_s_);
  const auto last = static_cast<std::size_t>(std::max(0.0, to_s - origin_s_) / width_s_);
  if (bins_.size() <= last) bins_.resize(last + 1);
  for (std::size_t n = first; n <= last; ++n) {
    const double bin_s = origin_s_ + static_cast<double>(n) * width_s_;
    const double within_s = std::min(to_s, bin_s + width_s_) - std::max(from_s, bin_s);
    bins_[n].joules += joules * within_s / (to_s - from_s);
    bins_[n].seconds += within_s;
  }
  end_s_ = to_s;
}

std::optional<double> PowerCurve::joules(double from_s, double to_s) const {
  constexpr double kLeastKnown = 0.99;
  const double last_s = std::min(to_s, end_s_), first_s = std::max(from_s, begin_s_);
  double joules = 0, known_s = 0;
  if (last_s <= first_s) return std::nullopt;
  const auto begin = static_cast<std::size_t>((first_s - origin_s_) / width_s_);
  for (std::size_t n = begin; n < bins_.size(); ++n) {
    // The first and the last bin are known in part, at one side.
    const double bin_s = origin_s_ + static_cast<double>(n) * width_s_;
    const double bin_from_s = std::max(bin_s, begin_s_), bin_to_s = std::min(bin_s + width_s_, end_s_);
    const double within_s = std::min(last_s, bin_to_s) - std::max(first_s, bin_from_s);
    if (bin_s >= last_s) break;
    if (within_s <= 0) continue;
    const double share = within_s / (bin_to_s - bin_from_s);
    joules += share * bins_[n].joules;
    known_s += share * bins_[n].seconds;
  }
  return known_s >= kLeastKnown * (to_s - from_s) ? std::optional(joules) : std::nullopt;
}

}  // namespace evener::measure
