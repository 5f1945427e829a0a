#include "parallel/shares.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace evener::parallel {
namespace {

/// Weight of the newest observation in the moving average of a replica's speed.
constexpr double kNewest = 0.3;
/// A change costs no less than this share of a step, also where nothing is made anew: data in other caches.
constexpr double kLeastCost = 0.1;

}  // namespace

std::vector<std::int64_t> divide(std::int64_t samples, std::span<const double> speeds) {
  const double sum = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  std::vector<std::int64_t> counts(speeds.size(), 0);
  if (counts.empty() || sum <= 0) return counts;
  std::int64_t left = samples;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    counts[i] = static_cast<std::int64_t>(std::floor(static_cast<double>(samples) * speeds[i] / sum));
    left -= counts[i];
  }
  // The rest one by one to whoever would finish first with it.
  for (; left > 0; --left) {
    std::size_t first = counts.size();
    double earliest = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (speeds[i] <= 0) continue;
      const double time = static_cast<double>(counts[i] + 1) / speeds[i];
      if (first < counts.size() && time >= earliest) continue;
      first = i;
      earliest = time;
    }
    ++counts[first];
  }
  return counts;
}

Shares Shares::fixed(std::vector<double> weights) {
  return {std::move(weights), false};
}

Shares Shares::measured(std::vector<double> speeds) {
  return {std::move(speeds), true};
}

double Shares::time_of(std::span<const std::int64_t> counts) const {
  double longest = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) longest = std::max(longest, static_cast<double>(counts[i]) / speeds_[i]);
  }
  return longest;
}

std::vector<std::int64_t> Shares::divide_batch(std::int64_t samples, const std::vector<bool>& active) {
  Division& last = last_[samples];
  std::vector<double> speeds = speeds_;
  bool as_before = last.counts.size() == speeds.size();
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    if (!active[i]) speeds[i] = 0;
    as_before = as_before && (active[i] || last.counts[i] == 0);
  }
  std::vector<std::int64_t> counts = divide(samples, speeds);
  if (as_before) {
    const double step_s = time_of(counts);
    last.passed_up_s += time_of(last.counts) - step_s;
    if (last.passed_up_s <= std::max(change_s_, kLeastCost * step_s)) return last.counts;
  }
  last = {std::move(counts)};
  return last.counts;
}

void Shares::observe(std::span<const std::int64_t> counts, std::span<const double> seconds) {
  if (!measured_) return;
  double change_s = 0;
  bool compared = false;
  for (std::size_t i = 0; i < speeds_.size(); ++i) {
    if (counts[i] == 0 || seconds[i] <= 0) continue;
    Past& past = pasts_[i];
    const bool begins = past.first_s.empty();  // which takes longer for other reasons too
    const auto [first, is_new] = past.first_s.try_emplace(counts[i], begins ? 0 : seconds[i]);
    if (is_new) continue;
    const double speed = static_cast<double>(counts[i]) / seconds[i];
    speeds_[i] += (past.observed ? kNewest : 1) * (speed - speeds_[i]);
    past.observed = true;
    if (first->second == 0) continue;
    change_s = std::max(change_s, std::exchange(first->second, 0) - seconds[i]);
    compared = true;
  }
  if (compared) change_s_ = change_s;
}

}  // namespace evener::parallel
