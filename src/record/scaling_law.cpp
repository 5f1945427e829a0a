#include "record/scaling_law.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "base/statistics.h"

namespace evener::record {

double AmdahlFit::speedup(int workers) const {
  return 1 / (serial_share + (1 - serial_share) / workers);
}

namespace {

/// seconds = serial + parallel / workers.
struct SerialAndParallel {
  double serial = 0, parallel = 0;
};

/// Each equation is divided by its seconds: u serial + v parallel = 1.
std::optional<SerialAndParallel> least_squares(std::span<const ScalingPoint> points) {
  double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0;
  for (const ScalingPoint& point : points) {
    if (point.workers < 1 || !(point.seconds > 0)) return std::nullopt;
    const double u = 1 / point.seconds, v = u / point.workers;
    uu += u * u;
    uv += u * v;
    vv += v * v;
    u1 += u;
    v1 += v;
  }
  const double determinant = uu * vv - uv * uv;
  if (!(determinant > 1e-12 * uu * vv)) return std::nullopt;
  return SerialAndParallel{(u1 * vv - v1 * uv) / determinant, (v1 * uu - u1 * uv) / determinant};
}

/// The serial share unclamped: noise may bring it below 0 or above 1, and clamping would bias a mean of such values.
std::optional<double> free_serial_share(std::span<const ScalingPoint> points) {
  const auto found = least_squares(points);
  return found ? std::optional(found->serial / (found->serial + found->parallel)) : std::nullopt;
}

}  // namespace

std::optional<AmdahlFit> fit_amdahl(std::span<const ScalingPoint> points) {
  const auto found = least_squares(points);
  if (!found) return std::nullopt;
  const double all = found->serial + found->parallel;
  return AmdahlFit{all, std::clamp(found->serial / all, 0.0, 1.0)};
}

double karp_flatt(double speedup, int workers) {
  return (1 / speedup - 1.0 / workers) / (1 - 1.0 / workers);
}

double gustafson(double serial_share, int workers) {
  return workers - serial_share * (workers - 1);
}

namespace {

/// The mean with an interval by Student's t over blocks.
BlockMean block_mean(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  BlockMean result{.mean = std::accumulate(values.begin(), values.end(), 0.0) / count, .interval = {}};
  if (values.size() < kFewestRuns) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  const double off = student_quantile(0.975, count - 1) * std::sqrt(squares / (count - 1) / count);
  result.interval = Interval{result.mean - off, result.mean + off};
  return result;
}

/// Transforms a mean and its interval by a monotonic function.
template <typename Figure>
BlockMean as_figure(const BlockMean& of, Figure figure) {
  BlockMean result{figure(of.mean), std::nullopt};
  if (!of.interval) return result;
  const auto [low, high] = std::minmax({figure(of.interval->low), figure(of.interval->high)});
  result.interval = Interval{low, high};
  return result;
}

/// The speedup against the other, from the ratios in common blocks; a mean of logarithms, since noise multiplies times.
/// Absent without a common block.
std::optional<BlockMean> speedup_over_blocks(const WorkersRuns& base, const WorkersRuns& other) {
  std::vector<double> logarithms;
  for (const BlockValue& run : base.seconds) {
    const auto same = std::ranges::find(other.seconds, run.block, &BlockValue::block);
    if (same == other.seconds.end() || run.value <= 0 || same->value <= 0) continue;
    logarithms.push_back(std::log(run.value / same->value));
  }
  if (logarithms.empty()) return std::nullopt;
  return as_figure(block_mean(logarithms), [](double logarithm) { return std::exp(logarithm); });
}

/// The interval of the serial share over fits for single blocks that have all numbers of workers.
std::optional<Interval> share_over_blocks(const std::vector<WorkersRuns>& runs) {
  std::vector<double> shares;
  for (const BlockValue& first : runs.front().seconds) {
    std::vector<ScalingPoint> points;
    for (const WorkersRuns& some : runs) {
      const auto same = std::ranges::find(some.seconds, first.block, &BlockValue::block);
      if (same != some.seconds.end()) points.push_back({some.workers, same->value});
    }
    if (points.size() < runs.size()) continue;
    if (const auto share = free_serial_share(points)) shares.push_back(*share);
  }
  if (shares.size() < kFewestRuns) return std::nullopt;
  const Interval free = *block_mean(shares).interval;
  return Interval{std::clamp(free.low, 0.0, 1.0), std::clamp(free.high, 0.0, 1.0)};
}

}  // namespace

Scaling scaling_of(std::vector<WorkersRuns> runs) {
  std::ranges::sort(runs, {}, &WorkersRuns::workers);
  std::erase_if(runs, [](const WorkersRuns& some) { return some.seconds.empty(); });
  Scaling scaling;
  if (runs.empty()) return scaling;
  std::vector<ScalingPoint> means;
  for (const WorkersRuns& some : runs) {
    WorkersScaling& one = scaling.workers.emplace_back();
    one.workers = some.workers;
    means.push_back({some.workers, *mean_of_runs(some.seconds).mean});
    const WorkersRuns& base = runs.front();
    if (&some == &base) continue;
    const double more = static_cast<double>(some.workers) / base.workers;
    one.speedup = speedup_over_blocks(base, some);
    if (!one.speedup) continue;
    one.efficiency = as_figure(*one.speedup, [more](double speedup) { return speedup / more; });
    if (base.workers == 1) {
      one.karp_flatt = as_figure(*one.speedup, [&](double speedup) { return karp_flatt(speedup, some.workers); });
    }
  }
  scaling.fit = fit_amdahl(means);
  if (scaling.fit) scaling.share_interval = share_over_blocks(runs);
  return scaling;
}

}  // namespace evener::record
