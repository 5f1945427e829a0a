#include "record/repeats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/statistics.h"

namespace evener::record {
namespace {

constexpr double kTwoSided95 = 0.975;
constexpr std::size_t kMostRuns = 100;  // nobody repeats a run more often
constexpr double kMissed = 0.2;         // probability of missing the difference (1 - power)

struct MeanAndSpread {
  double mean = 0;
  double deviation = 0;  // standard deviation of a single value
  double degrees = 0;    // degrees of freedom of the deviation
};

/// The mean of all values, and the deviation of the first `first_stage` (0: of all) about their own mean.
MeanAndSpread mean_and_spread(std::span<const double> values, std::size_t first_stage) {
  const auto mean_of = [](std::span<const double> some) {
    return std::accumulate(some.begin(), some.end(), 0.0) / static_cast<double>(some.size());
  };
  const std::span<const double> stage =
      first_stage >= kFewestRuns && first_stage < values.size() ? values.first(first_stage) : values;
  MeanAndSpread result{.mean = mean_of(values), .degrees = static_cast<double>(stage.size()) - 1};
  const double centre = mean_of(stage);
  double squares = 0;
  for (const double value : stage) squares += (value - centre) * (value - centre);
  if (result.degrees > 0) result.deviation = std::sqrt(squares / result.degrees);
  return result;
}

double standard_error(const MeanAndSpread& of, std::size_t count) {
  return of.deviation / std::sqrt(static_cast<double>(count));
}

std::vector<double> values_of(std::span<const BlockValue> runs, bool logarithms) {
  std::vector<double> values;
  for (const BlockValue& run : runs) values.push_back(logarithms ? std::log(run.value) : run.value);
  return values;
}

bool all_positive(std::span<const BlockValue> runs) {
  return std::ranges::all_of(runs, [](const BlockValue& run) { return run.value > 0 && std::isfinite(run.value); });
}

/// `compare`(baseline, candidate) of each common block, in the order of the baseline.
std::vector<double> within_blocks(std::span<const BlockValue> baseline, std::span<const BlockValue> candidate,
                                  auto compare) {
  std::vector<double> values;
  for (const BlockValue& base : baseline) {
    const auto other = std::ranges::find(candidate, base.block, &BlockValue::block);
    if (other != candidate.end()) values.push_back(compare(base.value, other->value));
  }
  return values;
}

/// Student's t of a mean difference.
double student_t(double difference, double error) {
  return difference == 0 ? 0 : error > 0 ? difference / error : std::numeric_limits<double>::infinity();
}

/// Computes ratio, interval and p from a mean difference of logarithms and its standard error.
void conclude(RunComparison& comparison, double difference, double error, double degrees) {
  const double off = student_quantile(kTwoSided95, degrees) * error;
  comparison.ratio = std::exp(difference);
  comparison.interval = Interval{std::exp(difference - off), std::exp(difference + off)};
  comparison.p = student_two_sided(student_t(difference, error), degrees);
}

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

/// Transforms a mean and its interval by a monotonic function.
/// Whether the runs differ so much that a serial share with this interval may be nearly any.
bool is_untold(const std::optional<Interval>& of_share) {
  constexpr double kNearlyAny = 0.5;
  return of_share && of_share->high - of_share->low > kNearlyAny;
}

BlockMean as_figure(const BlockMean& of, auto figure) {
  BlockMean result{figure(of.mean), std::nullopt};
  if (!of.interval) return result;
  const auto [low, high] = std::minmax({figure(of.interval->low), figure(of.interval->high)});
  result.interval = Interval{low, high};
  return result;
}

/// The interval of the serial share over fits for single blocks that have all numbers of workers.
std::optional<Interval> share_over_blocks(const std::vector<WorkersRuns>& runs, std::size_t first_stage) {
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
  const MeanAndSpread of = mean_and_spread(shares, first_stage);
  const double off = student_quantile(kTwoSided95, of.degrees) * standard_error(of, shares.size());
  return Interval{std::clamp(of.mean - off, 0.0, 1.0), std::clamp(of.mean + off, 0.0, 1.0)};
}

}  // namespace

MeanOfRuns mean_of_runs(std::span<const BlockValue> values) {
  MeanOfRuns result{.runs = values.size(), .mean = {}, .range = {}};
  if (values.empty()) return result;
  result.range = range(values_of(values, false));
  const bool logarithms = all_positive(values);
  const double mean = mean_and_spread(values_of(values, logarithms), 0).mean;
  result.mean = logarithms ? std::exp(mean) : mean;
  return result;
}

std::size_t runs_for_width(std::span<const BlockValue> values, std::size_t first_stage, double width) {
  if (!all_positive(values)) return first_stage;
  const MeanAndSpread of = mean_and_spread(values_of(values.first(first_stage), true), 0);
  const double off = student_quantile(kTwoSided95, of.degrees) * of.deviation / std::log1p(width);
  return std::max(first_stage, static_cast<std::size_t>(std::min(std::ceil(off * off), 1e9)));
}

RunComparison compare_runs(std::span<const BlockValue> baseline, std::span<const BlockValue> candidate,
                           std::size_t first_stage) {
  RunComparison comparison;
  if (baseline.empty() || candidate.empty()) {
    comparison.reason = "one of the two has no runs";
    return comparison;
  }
  if (!all_positive(baseline) || !all_positive(candidate)) {
    comparison.reason = "a figure that is not above 0 has no ratio";
    return comparison;
  }
  const std::vector<double> ratios =
      within_blocks(baseline, candidate, [](double base, double other) { return std::log(other / base); });
  comparison.pairs = ratios.size();
  if (ratios.size() >= kFewestRuns) {
    const MeanAndSpread of = mean_and_spread(ratios, first_stage);
    conclude(comparison, of.mean, standard_error(of, ratios.size()), of.degrees);
    comparison.deviation = of.deviation;
    return comparison;
  }
  comparison.ratio = *mean_of_runs(candidate).mean / *mean_of_runs(baseline).mean;
  const bool are_few = baseline.size() < kFewestRuns || candidate.size() < kFewestRuns;
  comparison.reason = are_few ? fmt::format("{} and {} runs are too few (at least {} each)", baseline.size(),
                                            candidate.size(), kFewestRuns)
                              : fmt::format(
                                    "{} of their runs were made side by side (at least {}), so that whatever else "
                                    "changed between them counts as a difference",
                                    ratios.empty() ? "none" : std::to_string(ratios.size()), kFewestRuns);
  return comparison;
}

std::optional<RunComparison> compare_runs_at_equal(std::span<const BlockValue> baseline,
                                                   std::span<const BlockValue> candidate,
                                                   std::span<const BlockValue> baseline_disturbance,
                                                   std::span<const BlockValue> candidate_disturbance, double least) {
  constexpr std::size_t kFewestForSlope = 5;
  if (!all_positive(baseline) || !all_positive(candidate)) return std::nullopt;
  const std::vector<double> ratios =
      within_blocks(baseline, candidate, [](double base, double other) { return std::log(other / base); });
  const std::vector<double> differences = within_blocks(baseline_disturbance, candidate_disturbance,
                                                        [](double base, double other) { return other - base; });
  const std::size_t pairs = ratios.size();
  if (pairs < kFewestForSlope || differences.size() != pairs) return std::nullopt;
  const MeanAndSpread of_difference = mean_and_spread(differences, 0), of_ratio = mean_and_spread(ratios, 0);
  if (of_difference.deviation < std::max(least, 1e-9)) return std::nullopt;
  const double squares = of_difference.deviation * of_difference.deviation * of_difference.degrees;
  double products = 0;
  for (std::size_t n = 0; n < pairs; ++n) {
    products += (differences[n] - of_difference.mean) * (ratios[n] - of_ratio.mean);
  }
  const double slope = products / squares, degrees = of_ratio.degrees - 1;
  double left = 0;
  for (std::size_t n = 0; n < pairs; ++n) {
    const double expected = of_ratio.mean + slope * (differences[n] - of_difference.mean);
    left += (ratios[n] - expected) * (ratios[n] - expected);
  }
  RunComparison comparison;
  comparison.at_equal = true;
  comparison.pairs = pairs;
  comparison.deviation = std::sqrt(left / degrees);
  const double from_centre = of_difference.mean * of_difference.mean / squares;
  conclude(comparison, of_ratio.mean - slope * of_difference.mean,
           *comparison.deviation * std::sqrt(1 / static_cast<double>(pairs) + from_centre), degrees);
  return comparison;
}

std::optional<double> p_of_excess(std::span<const BlockValue> smaller, std::span<const BlockValue> larger) {
  const std::vector<double> excess = within_blocks(smaller, larger, [](double a, double b) { return b - a; });
  if (excess.size() < kFewestRuns) return std::nullopt;
  const MeanAndSpread of = mean_and_spread(excess, 0);
  const double half = student_two_sided(student_t(of.mean, standard_error(of, excess.size())), of.degrees) / 2;
  return of.mean > 0 ? half : 1 - half;
}

std::optional<std::size_t> runs_to_decide(const RunComparison& seen, double claims, std::size_t at_once) {
  if (!seen.deviation || !seen.ratio || *seen.ratio == 1) return std::nullopt;
  const double difference = std::abs(std::log(*seen.ratio));
  // Bonferroni's bounds, of the level (Holm's correction is no stricter) and of missing one of several differences.
  const double level = 1 - kClaimLevel / 2 / claims, power = 1 - kMissed / static_cast<double>(at_once);
  const auto show = [&](std::size_t runs) {
    const double degrees = static_cast<double>(runs) - 1;
    const double needed = student_quantile(level, degrees) + student_quantile(power, degrees);
    return difference >= needed * *seen.deviation / std::sqrt(static_cast<double>(runs));
  };
  if (!show(kMostRuns)) return std::nullopt;
  std::size_t few = kFewestRuns - 1, enough = kMostRuns;
  while (enough - few > 1) {
    const std::size_t middle = (few + enough) / 2;
    (show(middle) ? enough : few) = middle;
  }
  return enough;
}

std::vector<std::optional<double>> corrected_for_number(std::span<const std::optional<double>> p) {
  std::vector<std::size_t> order;
  for (std::size_t n = 0; n < p.size(); ++n) {
    if (p[n]) order.push_back(n);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t n) { return *p[n]; });
  std::vector<std::optional<double>> corrected(p.begin(), p.end());
  double least = 0;  // corrected values never decrease
  for (std::size_t place = 0; place < order.size(); ++place) {
    least = std::max(least, std::min(1.0, *p[order[place]] * static_cast<double>(order.size() - place)));
    corrected[order[place]] = least;
  }
  return corrected;
}

double AmdahlFit::speedup(int workers) const {
  return 1 / (serial_share + (1 - serial_share) / workers);
}

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

Scaling scaling_of(std::vector<WorkersRuns> runs, std::size_t first_stage) {
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
    const RunComparison comparison = compare_runs(some.seconds, base.seconds, first_stage);
    if (!comparison.ratio) continue;
    one.speedup = BlockMean{*comparison.ratio, comparison.interval};
    one.efficiency = as_figure(*one.speedup, [more](double speedup) { return speedup / more; });
    if (base.workers == 1) {
      one.karp_flatt = as_figure(*one.speedup, [&](double speedup) { return karp_flatt(speedup, some.workers); });
      if (is_untold(one.karp_flatt->interval)) one.karp_flatt.reset();
    }
  }
  scaling.fit = fit_amdahl(means);
  if (scaling.fit) scaling.share_interval = share_over_blocks(runs, first_stage);
  if (is_untold(scaling.share_interval)) scaling.fit.reset();
  return scaling;
}

}  // namespace evener::record
