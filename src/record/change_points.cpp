#include "record/change_points.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/random.h"
#include "base/statistics.h"
#include "record/repeats.h"

namespace evener::record {
namespace {

/// A test ends once this many permutations were as extreme (Besag and Clifford, Sequential Monte Carlo p-values, 1991).
constexpr std::size_t kEnoughExtremes = 20;
/// Sums of the same distances in another order differ by less than this share.
constexpr double kRounding = 1e-9;
/// A p-value of permutations up to this multiple of the least that they can have says no more than that.
constexpr double kNearLeast = 4;
/// Nobody knows the noise's distribution farther out.
constexpr double kLeastByStudent = 1e-6;

/// Values first to end - 1 of a series.
struct Segment {
  std::size_t first = 0, end = 0;
};

/// Values first to index - 1 against those from there to end - 1.
struct Split {
  std::size_t index = 0;
  double statistic = -1;  // below 0: there is none
  std::size_t first = 0, end = 0;
};

/// The split of a segment with the largest energy distance, n m / (n + m) (2 E|X - Y| - E|X - X'| - E|Y - Y'|): of the
/// first n values against the m from there up to some later end, so that a level that returns later doesn't hide it.
/// `within` is work space.
Split best_split(std::span<const double> values, const Segment& segment, std::vector<double>& within) {
  const std::size_t count = segment.end - segment.first;
  const double* const z = values.data() + segment.first;
  Split best;
  within.assign(count, 0);                   // of distances among z[from], ..., z[end - 1]
  std::vector<double> before(count + 1, 0);  // of distances among z[0], ..., z[n - 1]
  for (std::size_t end = 1; end <= count; ++end) {
    double to_last = 0;
    for (std::size_t from = end - 1; from-- > 0;) {
      to_last += std::abs(z[end - 1] - z[from]);
      within[from] += to_last;
    }
    before[end] = within[0];
    if (end < 2 * kFewestOfLevel) continue;
    for (std::size_t n = kFewestOfLevel; n + kFewestOfLevel <= end; ++n) {
      const double left = static_cast<double>(n), right = static_cast<double>(end - n);
      const double between = before[end] - before[n] - within[n];
      const double statistic =
          2 * (between - before[n] * right / (left - 1) - within[n] * left / (right - 1)) / (left + right);
      if (statistic > best.statistic) best = {segment.first + n, statistic, segment.first, segment.first + end};
    }
  }
  return best;
}

Split best_split(std::span<const double> values, std::span<const Segment> segments, std::vector<double>& work) {
  Split best;
  for (const Segment& segment : segments) {
    if (segment.end - segment.first < 2 * kFewestOfLevel) continue;
    const Split split = best_split(values, segment, work);
    if (split.statistic > best.statistic) best = split;
  }
  return best;
}

std::vector<Segment> segments_of(std::size_t count, std::span<const ChangePoint> points) {
  std::vector<Segment> segments;
  std::size_t first = 0;
  for (const ChangePoint& point : points) {
    segments.push_back({first, point.index});
    first = point.index;
  }
  segments.push_back({first, count});
  return segments;
}

void shuffle(std::span<double> values, Random& random) {
  for (std::size_t n = values.size(); n > 1; --n) std::swap(values[n - 1], values[random.below(n)]);
}

/// The logarithm of the share of orders of `count` values that keep two neighbouring parts of n and m values apart.
double log_share_of_orders(std::size_t count, std::size_t n, std::size_t m) {
  const auto log_factorial = [](std::size_t k) {
    int sign = 0;  // lgamma() writes a global one
    return lgamma_r(static_cast<double>(k) + 1, &sign);
  };
  return log_factorial(n) + log_factorial(m) + log_factorial(count - n - m) - log_factorial(count);
}

/// The splits among which best_split() chooses.
double number_of_splits(std::size_t count) {
  const double ends = static_cast<double>(count) - 2 * kFewestOfLevel + 1;
  return ends * (ends + 1) / 2;
}

/// The least distance of two different values; 0 for none.
double resolution_of(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  double least = 0;
  for (std::size_t n = 1; n < sorted.size(); ++n) {
    const double step = sorted[n] - sorted[n - 1];
    if (step > kRounding * (sorted.back() - sorted.front()) && (least == 0 || step < least)) least = step;
  }
  return least;
}

double variance_of(std::span<const double> values) {
  double mean = 0, sum = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(values.size() - 1);
}

/// The p-value of a split by Student's t, times the number of splits that it was chosen from (Bonferroni). The variance
/// is that of the noisier side, which skewed noise and outliers make the larger one, and at least that of values which
/// alternate between neighbours on their scale.
double p_by_student(const Split& found, std::span<const double> values, std::span<const Segment> segments) {
  const auto before = values.subspan(found.first, found.index - found.first);
  const auto after = values.subspan(found.index, found.end - found.index);
  const double n = static_cast<double>(before.size()), m = static_cast<double>(after.size());
  const double resolution = resolution_of(values);
  const double variance = std::max({variance_of(before), variance_of(after), resolution * resolution / 4});
  double sum_before = 0, sum_after = 0, splits = 0;
  for (const double value : before) sum_before += value;
  for (const double value : after) sum_after += value;
  for (const Segment& segment : segments) {
    if (segment.end - segment.first >= 2 * kFewestOfLevel) splits += number_of_splits(segment.end - segment.first);
  }
  const double t = (sum_after / m - sum_before / n) / std::sqrt(variance * (1 / n + 1 / m));
  return std::clamp(splits * student_two_sided(t, n + m - 2), kLeastByStudent, 1.0);
}

/// The p-value of a split: how often values that are exchanged within their segments can be split as well. Few values
/// have few orders, so that this can't become small however clear the split is: where it is as small as orders allow,
/// Student's t says how clear.
double p_of(const Split& found, std::span<const double> values, std::span<const Segment> segments,
            std::size_t permutations) {
  std::vector<double> exchanged(values.begin(), values.end()), work;
  std::size_t extreme = 0, made = 0;
  while (made < permutations && extreme < kEnoughExtremes) {
    Random random(segments.size(), Purpose::kBootstrap, values.size(), ++made);
    for (const Segment& segment : segments) {
      shuffle(std::span(exchanged).subspan(segment.first, segment.end - segment.first), random);
    }
    extreme += best_split(exchanged, segments, work).statistic >= found.statistic * (1 - kRounding);
  }
  const bool is_whole = extreme < kEnoughExtremes;
  const double p = static_cast<double>(extreme + is_whole) / static_cast<double>(made + is_whole);
  const auto of = std::ranges::find(segments, found.first, &Segment::first);
  const double least =
      2 * std::exp(log_share_of_orders(of->end - of->first, found.index - found.first, found.end - found.index));
  if (p >= kClaimLevel || (extreme > 0 && p > kNearLeast * least)) return p;
  return std::min(p, p_by_student(found, values, segments));
}

/// Splits until no split is significant.
SeriesChanges divide(std::span<const double> values, std::size_t permutations) {
  SeriesChanges found;
  double p = 0;
  std::vector<double> work;
  while (true) {
    const std::vector<Segment> segments = segments_of(values.size(), found.points);
    const Split split = best_split(values, segments, work);
    if (split.statistic <= 0) return found;
    p = std::max(p, p_of(split, values, segments, permutations));
    if (p >= kClaimLevel) {
      found.other_tests.push_back(p);
      return found;
    }
    found.points.push_back({split.index, p});
    std::ranges::sort(found.points, {}, &ChangePoint::index);
  }
}

/// The drift within segments: the median slope of all pairs of values (Theil and Sen), and Mann and Kendall's test.
Drift drift_in(std::span<const double> values, std::span<const Segment> segments) {
  std::vector<double> slopes;
  double balance = 0, variance = 0;
  for (const Segment& segment : segments) {
    for (std::size_t j = segment.first; j < segment.end; ++j) {
      for (std::size_t i = segment.first; i < j; ++i) {
        slopes.push_back((values[j] - values[i]) / static_cast<double>(j - i));
        balance += (values[j] > values[i]) - (values[j] < values[i]);
      }
    }
    const double n = static_cast<double>(segment.end - segment.first);
    variance += n * (n - 1) * (2 * n + 5) / 18;
  }
  Drift drift;
  if (slopes.empty()) return drift;
  std::ranges::sort(slopes);
  const double deviation = std::sqrt(variance), pairs = static_cast<double>(slopes.size());
  drift.per_value = sorted_quantile(slopes, 0.5);
  drift.p = std::erfc(std::max(0.0, std::abs(balance) - 1) / deviation / std::numbers::sqrt2);
  // Sen, Estimates of the regression coefficient based on Kendall's tau, 1968.
  const double beyond = (pairs - kNormal95 * deviation) / 2;
  if (beyond >= 1) {
    const auto place = static_cast<std::size_t>(beyond);
    drift.interval = Interval{slopes[place - 1], slopes[slopes.size() - place]};
  }
  return drift;
}

std::vector<double> without_drift(std::span<const double> values, double per_value) {
  std::vector<double> level(values.begin(), values.end());
  for (std::size_t n = 0; n < level.size(); ++n) level[n] -= per_value * static_cast<double>(n);
  return level;
}

/// Between change points, beside the drift.
double deviation_within(std::span<const double> values, const SeriesChanges& found) {
  const std::vector<double> level = without_drift(values, found.drift ? found.drift->per_value : 0);
  double sum = 0, degrees = 0;
  for (const Segment& segment : segments_of(values.size(), found.points)) {
    const double of_segment = static_cast<double>(segment.end - segment.first) - 1;
    sum += of_segment * variance_of(std::span(level).subspan(segment.first, segment.end - segment.first));
    degrees += of_segment;
  }
  return std::sqrt(sum / degrees);
}

/// How badly levels between change points describe the values; `slopes`: the number of slopes that were taken away.
double bic_of(std::span<const double> values, std::span<const ChangePoint> points, int slopes) {
  double distance = 0;
  for (const Segment& segment : segments_of(values.size(), points)) {
    const auto part = values.subspan(segment.first, segment.end - segment.first);
    const double level = *median(part);
    for (const double value : part) distance += std::abs(value - level);
  }
  const auto [low, high] = std::ranges::minmax(values);
  const double n = static_cast<double>(values.size()),
               parameters = 2.0 * static_cast<double>(points.size()) + 1 + slopes;
  return 2 * n * std::log(std::max(distance / n, kRounding * (high - low))) + parameters * std::log(n);
}

struct Description {
  SeriesChanges changes;
  double bic = 0;
};

/// Steps beside a drift that begins as `drift`. Steps hide a part of a drift, and a drift makes steps: with one known
/// better, so is the other.
Description beside_drift(std::span<const double> values, Drift drift, std::size_t permutations) {
  Description description;
  for (int round = 0; round < 2; ++round) {
    description.changes = divide(without_drift(values, drift.per_value), permutations);
    drift = drift_in(values, segments_of(values.size(), description.changes.points));
    if (description.changes.points.empty()) break;
  }
  description.changes.drift = drift;
  description.bic = bic_of(without_drift(values, drift.per_value), description.changes.points, 1);
  return description;
}

}  // namespace

std::size_t permutations_for(std::size_t series) {
  return std::clamp<std::size_t>(80 * series, kPermutations, 19'999);
}

SeriesChanges find_changes(std::span<const double> values, std::size_t permutations) {
  if (values.size() < kFewestSamples) return {};
  Description best{.changes = divide(values, permutations)};
  best.bic = bic_of(values, best.changes.points, 0);
  const Drift throughout = drift_in(values, segments_of(values.size(), {}));
  const Drift between_steps = drift_in(values, segments_of(values.size(), best.changes.points));
  const auto hold_against_best = [&](const Drift& drift) {
    Description other = beside_drift(values, drift, permutations);
    if (other.changes.drift->p < kClaimLevel && other.bic < best.bic) best = std::move(other);
  };
  const bool is_line = bic_of(without_drift(values, throughout.per_value), {}, 1) < best.bic;
  if (throughout.p < kClaimLevel && is_line) hold_against_best(throughout);
  if (between_steps.p < kClaimLevel && !best.changes.points.empty()) hold_against_best(between_steps);
  if (!best.changes.drift) best.changes.other_tests.push_back(between_steps.p);
  return best.changes;
}

Noise noise_of(std::span<const double> values, const SeriesChanges& found) {
  if (values.size() < kFewestOfLevel) return {};
  const double deviation = deviation_within(values, found), resolution = resolution_of(values);
  return {.deviation = deviation > kRounding * resolution && resolution > 0 ? deviation : 0, .resolution = resolution};
}

std::optional<double> least_step_shown(const Noise& noise, std::size_t count, std::size_t tests) {
  // Beyond what is just significant: with that probability the step of a sample is seen, whose noise isn't quite known.
  constexpr double kPower = 2;
  if (count < kFewestSamples) return std::nullopt;
  const std::size_t half = count / 2;
  const double level = kClaimLevel / static_cast<double>(std::max<std::size_t>(tests, 1));
  const bool have_orders = kNearLeast * std::exp(log_share_of_orders(count, half, count - half)) < level;
  if (!have_orders && noise.deviation == 0) return std::nullopt;
  const double splits = have_orders ? static_cast<double>(count - 2 * kFewestOfLevel + 1) : number_of_splits(count);
  const double deviation = have_orders ? noise.deviation : std::max(noise.deviation, noise.resolution / 2);
  const double t = student_quantile(1 - level / splits / 2, static_cast<double>(count) - 2);
  return (t + kPower) * deviation * std::sqrt(1 / static_cast<double>(half) + 1 / static_cast<double>(count - half));
}

std::optional<TwoLevels> two_levels_of(std::span<const double> values) {
  constexpr std::size_t kFewestSwitches = 4;
  if (values.size() < kFewestSamples) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  std::size_t above = kFewestOfLevel;
  for (std::size_t n = above; n + kFewestOfLevel <= sorted.size(); ++n) {
    if (sorted[n] - sorted[n - 1] > sorted[above] - sorted[above - 1]) above = n;
  }
  const double gap = sorted[above] - sorted[above - 1];
  if (gap <= 2 * std::max(sorted[above - 1] - sorted.front(), sorted.back() - sorted[above])) return std::nullopt;
  std::size_t switches = 0;
  for (std::size_t n = 1; n < values.size(); ++n) {
    switches += (values[n] >= sorted[above]) != (values[n - 1] >= sorted[above]);
  }
  if (switches < kFewestSwitches) return std::nullopt;
  const std::span<const double> all = sorted;
  return TwoLevels{*median(all.first(above)), *median(all.subspan(above)), above, switches};
}

std::size_t correct_together(std::span<SeriesChanges> all) {
  std::vector<std::optional<double>> tests;
  std::vector<double*> claims;  // of the first so many tests
  for (SeriesChanges& changes : all) {
    for (ChangePoint& point : changes.points) claims.push_back(&point.p);
    if (changes.drift) claims.push_back(&changes.drift->p);
  }
  for (const double* claim : claims) tests.emplace_back(*claim);
  for (const SeriesChanges& changes : all)
    tests.insert(tests.end(), changes.other_tests.begin(), changes.other_tests.end());
  const auto corrected = corrected_for_number(tests);
  for (std::size_t n = 0; n < claims.size(); ++n) *claims[n] = *corrected[n];
  for (SeriesChanges& changes : all) {
    std::erase_if(changes.points, [](const ChangePoint& point) { return point.p >= kClaimLevel; });
    if (changes.drift && changes.drift->p >= kClaimLevel) changes.drift.reset();
  }
  return tests.size();
}

namespace {

/// The largest k for which the sum of Mann and Whitney is at most k - 1 with a probability of at most 2.5 %; 0 if none.
std::size_t place_by_rank_sum(std::size_t n, std::size_t m) {
  constexpr std::size_t kExactUpTo = 30;
  const double pairs = static_cast<double>(n * m);
  if (n > kExactUpTo || m > kExactUpTo) {
    const double deviation = std::sqrt(pairs * static_cast<double>(n + m + 1) / 12);
    const double place = pairs / 2 - kNormal95 * deviation;
    return place < 1 ? 0 : static_cast<std::size_t>(place);
  }
  // ways[u]: how many of the choices of n ranks among n + m have the sum u: the Gaussian binomial coefficient.
  std::vector<double> ways(n * m + 1, 0);
  ways[0] = 1;
  for (std::size_t k = 1; k <= n; ++k) {
    for (std::size_t u = ways.size(); u-- > m + k;) ways[u] -= ways[u - m - k];
    for (std::size_t u = k; u < ways.size(); ++u) ways[u] += ways[u - k];
  }
  double all = 0, below = 0;
  for (const double one : ways) all += one;
  for (std::size_t u = 0; u < ways.size(); ++u) {
    below += ways[u];
    if (2 * below > kClaimLevel * all) return u;
  }
  return 0;
}

}  // namespace

Shift shift_of(std::span<const double> before, std::span<const double> after) {
  std::vector<double> differences;
  differences.reserve(before.size() * after.size());
  for (const double later : after) {
    for (const double earlier : before) differences.push_back(later - earlier);
  }
  std::ranges::sort(differences);
  Shift shift{.by = sorted_quantile(differences, 0.5), .interval = std::nullopt};
  const std::size_t place = place_by_rank_sum(before.size(), after.size());
  if (place > 0) shift.interval = Interval{differences[place - 1], differences[differences.size() - place]};
  return shift;
}

}  // namespace evener::record
