// How few queries are enough to vouch for a percentile of latency: the early stopping of MLPerf's LoadGen, with its
// confidence of 99 %. A query is late if it takes longer than the percentile that is vouched for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace evener::bench {

/// The fewest queries in time that make up for `late` late ones: the smallest h with I(percentile; h, late + 1) <=
/// 0.01.
std::int64_t fewest_in_time(std::int64_t late, double percentile);

/// The fewest queries that give an estimate of the percentile: 64 for 0.90, 662 for 0.99.
std::int64_t smallest_total(double percentile);

/// How many of `queries` may be late so that, with 99 % confidence, a share of `percentile` is in time; absent where so
/// few queries would not do even if all of them were in time.
std::optional<std::int64_t> allowed_late(std::int64_t queries, double percentile);

/// A latency that, with 99 % confidence, the percentile does not exceed: with as many late queries allowed as possible,
/// the slowest but for those that it discards (one fewer than are allowed). Absent below smallest_total().
struct PercentileEstimate {
  double latency_s = 0;
  std::int64_t discarded = 0;
};
std::optional<PercentileEstimate> early_stopping_estimate(std::span<const double> sorted_latencies_s,
                                                          double percentile);

/// The latency at place floor(n * percentile) of n sorted ones, counted from 0, as LoadGen tells percentiles. There is
/// at least one.
double plain_percentile(std::span<const double> sorted_latencies_s, double percentile);

}  // namespace evener::bench
