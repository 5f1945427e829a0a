// The log of a run of queries: each query with its latency and the parts of the latency.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "infer/scenarios/system.h"

namespace evener::inference {

/// The parts of latency, in the order of LatencyParts.
inline constexpr std::array kPartNames{"queue", "preprocess", "copy", "compute", "postprocess"};
constexpr std::size_t kParts = kPartNames.size();

/// One entry of the log. Kept small, as a run may have millions of queries.
struct AnsweredQuery {
  double scheduled_s = 0;               // when it was issued or arrived, in seconds since the run's start
  double latency_s = 0;                 // until its last answer
  std::array<float, kParts> parts_s{};  // NaN: the system doesn't report this part
  std::int32_t samples = 0;
  std::int32_t lane = 0;  // that answered it, or its slowest part
};

/// The parts of a query's latency: those `told` by the system, with `waited_s`, its wait for a lane, added to "queue".
std::array<float, kParts> parts_of(double waited_s, const LatencyParts& told);

struct RunLog {
  std::vector<AnsweredQuery> queries;  // in the order of their answers; offline: each batch of the single query
  std::int64_t samples = 0;
  double begin_s = 0;     // when it began, by now_s()
  double seconds = 0;     // until the last answer
  std::int64_t late = 0;  // server: queries that took longer than the latency limit
  bool complete = false;  // the minimum duration and number of queries were reached
  bool stopped = false;   // a stop request ended it
  bool hopeless = false;  // it ended early because too many queries were late
  bool full = false;      // it ended because the log may have no more queries

  /// Shortest first.
  std::vector<double> sorted_latencies_s() const;
  /// The mean of each part over the queries that report it; absent if none does.
  std::array<std::optional<double>, kParts> mean_parts_s() const;
  /// Queries (or samples) answered per second, in each tenth of the run.
  std::vector<double> rates_of_tenths(bool of_samples) const;
};

// The early stopping of MLPerf's LoadGen: how many queries it takes to state a percentile of latency with 99 %
// confidence. A query is late if its latency exceeds the stated value. Below, `percentile` is a share such as 0.99.

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

}  // namespace evener::inference
