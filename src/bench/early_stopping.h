// The early stopping of MLPerf's LoadGen: how many queries it takes to state a percentile of latency with 99 %
// confidence. A query is late if its latency exceeds the stated value. Below, `percentile` is a share such as 0.99.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace evener::bench {

/// The fewest queries in time that allow `late` late ones: the smallest h with I(percentile; h, late + 1) <= 0.01,
/// where I is the regularised incomplete beta function.
std::int64_t fewest_in_time(std::int64_t late, double percentile);

/// The fewest queries for which early_stopping_estimate() gives a value: 64 for 0.90, 662 for 0.99.
std::int64_t smallest_total(double percentile);

/// How many of `queries` may be late if a share of `percentile` is to be in time with 99 % confidence. Absent if there
/// are too few queries even if none is late.
std::optional<std::int64_t> allowed_late(std::int64_t queries, double percentile);

/// An upper bound of the percentile of latency with 99 % confidence. It is the largest latency that is left after
/// discarding the slowest queries, one fewer than allowed_late(). Absent for fewer queries than smallest_total().
struct PercentileEstimate {
  double latency_s = 0;
  std::int64_t discarded = 0;
};
std::optional<PercentileEstimate> early_stopping_estimate(std::span<const double> sorted_latencies_s,
                                                          double percentile);

/// The percentile as LoadGen defines it: of n sorted latencies the one at index floor(n * percentile). There must be at
/// least one latency.
double plain_percentile(std::span<const double> sorted_latencies_s, double percentile);

}  // namespace evener::bench
