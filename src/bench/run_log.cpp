#include "bench/run_log.h"

#include <algorithm>
#include <cmath>

namespace evener::bench {
namespace {

constexpr std::size_t kWindows = 10;

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

}  // namespace evener::bench
