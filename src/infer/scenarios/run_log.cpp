#include "infer/scenarios/run_log.h"

#include <algorithm>
#include <cmath>

#include "base/statistics.h"

namespace evener::inference {
namespace {

constexpr std::size_t kWindows = 10;

constexpr double kConfidence = 0.99;

/// Whether these queries show with 99 % confidence that a share of `percentile` is in time.
bool enough(std::int64_t in_time, std::int64_t late, double percentile) {
  return in_time > 0 &&
         incomplete_beta(percentile, static_cast<double>(in_time), static_cast<double>(late + 1)) <= 1 - kConfidence;
}

}  // namespace

std::array<float, kParts> parts_of(double waited_s, const LatencyParts& told) {
  const auto part = [](const std::optional<double>& seconds) {
    return seconds ? static_cast<float>(*seconds) : std::numeric_limits<float>::quiet_NaN();
  };
  return {static_cast<float>(waited_s + told.queue_s.value_or(0)), part(told.preprocess_s), part(told.copy_s),
          part(told.compute_s), part(told.postprocess_s)};
}

std::vector<double> RunLog::sorted_latencies_s() const {
  std::vector<double> latencies;
  latencies.reserve(queries.size());
  for (const AnsweredQuery& query : queries) latencies.push_back(query.latency_s);
  std::ranges::sort(latencies);
  return latencies;
}

std::array<std::optional<double>, kParts> RunLog::mean_parts_s() const {
  std::array<std::optional<double>, kParts> means;
  for (std::size_t part = 0; part < kParts; ++part) {
    double sum = 0;
    std::int64_t known = 0;
    for (const AnsweredQuery& query : queries) {
      if (std::isnan(query.parts_s[part])) continue;
      sum += query.parts_s[part];
      ++known;
    }
    if (known > 0) means[part] = sum / static_cast<double>(known);
  }
  return means;
}

std::vector<double> RunLog::rates_of_tenths(bool of_samples) const {
  if (queries.size() < kWindows || seconds <= 0) return {};
  const double window_s = seconds / kWindows;
  std::vector<double> rates(kWindows);
  for (const AnsweredQuery& query : queries) {
    const double end_s = query.scheduled_s + query.latency_s;
    const auto window = static_cast<std::size_t>(std::max(0.0, end_s / window_s));
    rates[std::min(window, kWindows - 1)] += (of_samples ? query.samples : 1) / window_s;
  }
  return rates;
}

std::int64_t fewest_in_time(std::int64_t late, double percentile) {
  std::int64_t most = 1;
  while (!enough(most, late, percentile)) most *= 2;
  std::int64_t too_few = most / 2;
  while (most - too_few > 1) {
    const std::int64_t middle = too_few + (most - too_few) / 2;
    (enough(middle, late, percentile) ? most : too_few) = middle;
  }
  return most;
}

std::int64_t smallest_total(double percentile) {
  return fewest_in_time(1, percentile) + 1;
}

std::optional<std::int64_t> allowed_late(std::int64_t queries, double percentile) {
  if (!enough(queries, 0, percentile)) return std::nullopt;
  std::int64_t allowed = 0, too_many = queries;
  while (too_many - allowed > 1) {
    const std::int64_t middle = allowed + (too_many - allowed) / 2;
    (enough(queries - middle, middle, percentile) ? allowed : too_many) = middle;
  }
  return allowed;
}

std::optional<PercentileEstimate> early_stopping_estimate(std::span<const double> sorted_latencies_s,
                                                          double percentile) {
  const auto queries = static_cast<std::int64_t>(sorted_latencies_s.size());
  const std::int64_t late = allowed_late(queries, percentile).value_or(0);
  if (late < 1) return std::nullopt;
  return PercentileEstimate{sorted_latencies_s[static_cast<std::size_t>(queries - late)], late - 1};
}

double plain_percentile(std::span<const double> sorted_latencies_s, double percentile) {
  const auto place = static_cast<std::size_t>(static_cast<double>(sorted_latencies_s.size()) * percentile);
  return sorted_latencies_s[std::min(place, sorted_latencies_s.size() - 1)];
}

}  // namespace evener::inference
