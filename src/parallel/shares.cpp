#include "parallel/shares.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace evener::parallel {
namespace {

/// Weight of the newest observation in the moving average of a replica's speed.
constexpr double kNewest = 0.3;
/// The newest observation has this weight in the moving average of the variance of a replica's time. It is smaller,
/// since a single step says less about a variance than about a speed.
constexpr double kNewestVariance = 0.15;
/// Limits how far a single very slow step may be off the expected time in the variance, as a share.
constexpr double kFarthest = 0.25;
/// The least cost of changing the division, as a share of a step: even if the engine prepares nothing anew, samples
/// that move are in another core's caches.
constexpr double kLeastCost = 0.1;

double normal_density(double x) {
  return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
}

double normal_distribution(double x) {
  return std::erfc(-x / std::numbers::sqrt2) / 2;
}

/// The weight of the last call in the moving average of a worker's time.
constexpr double kWeightOfLast = 0.5;

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
  // Gives each left-over sample to the replica that would finish first with one more.
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

/// The mean of the maximum of normally distributed times, approximated by combining the maximum so far with one more
/// time (C. E. Clark, The Greatest of a Finite Set of Random Variables, 1961).
double Shares::expected_s(std::span<const std::int64_t> counts) const {
  double mean = 0, variance = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const double own = static_cast<double>(counts[i]) / speeds_[i];
    const double own_variance = own * own * pasts_[i].variance;
    const double deviation = std::sqrt(variance + own_variance);
    if (mean == 0 || deviation == 0) {
      variance = own > mean ? own_variance : variance;
      mean = std::max(mean, own);
      continue;
    }
    const double ahead = (mean - own) / deviation;
    const double before = normal_distribution(ahead), here = 1 - before, between = deviation * normal_density(ahead);
    const double square =
        (mean * mean + variance) * before + (own * own + own_variance) * here + (mean + own) * between;
    mean = mean * before + own * here + between;
    variance = std::max(0.0, square - mean * mean);
  }
  return mean;
}

/// Moves the samples of a replica with fewer than least_ to the one that has most. Goes from the last replica to the
/// first, so that rank 0 keeps its samples if possible.
void Shares::fold_small(std::vector<std::int64_t>& counts) const {
  for (std::size_t i = counts.size(); i-- > 0;) {
    if (counts[i] >= least_) continue;
    const std::int64_t few = std::exchange(counts[i], 0);
    *std::ranges::max_element(counts) += few;
  }
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
  fold_small(counts);
  if (as_before) {
    const double step_s = expected_s(counts);
    last.passed_up_s += expected_s(last.counts) - step_s;
    if (last.passed_up_s <= std::max(change_s_, kLeastCost * step_s)) return last.counts;
  }
  last = {std::move(counts)};
  return last.counts;
}

std::vector<std::vector<std::int64_t>> Shares::divide_micro_batches(std::span<const std::int64_t> sizes,
                                                                    const std::vector<bool>& active) {
  const std::int64_t samples = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  std::vector<std::int64_t> left = divide_batch(samples, active);  // samples that each replica must still get
  std::vector<std::vector<std::int64_t>> counts;
  for (const std::int64_t size : sizes) {
    counts.push_back(divide(size, std::vector<double>(left.begin(), left.end())));
    fold_small(counts.back());
    // A replica that took over another's samples may have got more than its part, hence the limit of 0.
    for (std::size_t i = 0; i < left.size(); ++i) left[i] = std::max<std::int64_t>(0, left[i] - counts.back()[i]);
  }
  return counts;
}

void Shares::observe(std::span<const std::int64_t> counts, std::span<const double> seconds) {
  if (!measured_) return;
  double change_s = 0;
  bool compared = false;
  for (std::size_t i = 0; i < speeds_.size(); ++i) {
    if (counts[i] == 0 || seconds[i] <= 0) continue;
    Past& past = pasts_[i];
    const bool begins = past.first_s.empty();  // the very first step is slow for other reasons too
    const auto [first, is_new] = past.first_s.try_emplace(counts[i], begins ? 0 : seconds[i]);
    if (is_new) continue;
    const double speed = static_cast<double>(counts[i]) / seconds[i];
    if (past.observed) {
      const double off = std::clamp(speeds_[i] / speed - 1, -kFarthest, kFarthest);
      past.variance += kNewestVariance * (off * off - past.variance);
    }
    speeds_[i] += (past.observed ? kNewest : 1) * (speed - speeds_[i]);
    past.observed = true;
    if (first->second == 0) continue;
    change_s = std::max(change_s, std::exchange(first->second, 0) - seconds[i]);
    compared = true;
  }
  if (!compared) return;
  change_s_ = std::min(change_s,
                       last_change_s_.value_or(change_s));  // the smaller of the two: one of them may have been held up
  last_change_s_ = change_s;
}

std::vector<std::int64_t> micro_batches(std::int64_t samples, std::int64_t batch, std::int64_t accumulate) {
  const std::int64_t as_large = (samples * accumulate + batch - 1) / batch;
  const std::int64_t least = 2 * accumulate <= batch ? 2 : 1;
  const std::int64_t parts = std::clamp<std::int64_t>(as_large, 1, std::max<std::int64_t>(1, samples / least));
  std::vector<std::int64_t> sizes;
  for (std::int64_t part = 0; part < parts; ++part) {
    sizes.push_back(samples * (part + 1) / parts - samples * part / parts);
  }
  return sizes;
}

Dealing::Dealing(std::vector<double> call_s, std::int64_t calls) : workers_(call_s.size()), calls_(calls) {
  for (std::size_t w = 0; w < workers_.size(); ++w) workers_[w].call_s = call_s[w];
}

bool Dealing::takes(std::size_t worker, double now_s) {
  const std::lock_guard lock(mutex_);
  Worker& asking = workers_.at(worker);
  if (calls_ == 0 || others_are_sooner(asking, now_s)) {
    asking.done = true;
    return false;
  }
  --calls_;
  asking.free_s = now_s + asking.call_s;
  return true;
}

void Dealing::gave(std::size_t worker, double seconds, double now_s) {
  const std::lock_guard lock(mutex_);
  Worker& free = workers_.at(worker);
  free.call_s += kWeightOfLast * (seconds - free.call_s);
  free.free_s = now_s;
}

/// Whether the other workers would finish all remaining calls before `worker` finished one.
bool Dealing::others_are_sooner(const Worker& worker, double now_s) const {
  std::vector<Worker> others;
  double fastest_s = worker.call_s;
  for (const Worker& other : workers_) {
    if (&other == &worker || other.done) continue;
    others.push_back(other);
    others.back().free_s = std::max(other.free_s, now_s);
    fastest_s = std::min(fastest_s, other.call_s);
  }
  if (others.empty()) return false;
  // Saves the simulation while many calls are left: even if all of them took the fastest worker's time, the others
  // couldn't finish them within one call of `worker`.
  if (static_cast<double>(calls_) * fastest_s >= worker.call_s * static_cast<double>(others.size())) return false;
  double end_s = now_s;
  for (std::int64_t call = 0; call < calls_; ++call) {
    const auto next =
        std::ranges::min_element(others, {}, [](const Worker& other) { return other.free_s + other.call_s; });
    next->free_s += next->call_s;
    end_s = std::max(end_s, next->free_s);
  }
  return end_s < now_s + worker.call_s;
}

}  // namespace evener::parallel
