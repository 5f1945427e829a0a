// What a run of queries came to: every query with its latency and the parts of it.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "bench/system.h"

namespace evener::bench {

/// The parts of latency, in the order of LatencyParts.
inline constexpr std::array kPartNames{"queue", "preprocess", "copy", "compute", "postprocess"};
constexpr std::size_t kParts = kPartNames.size();

/// Kept for each of millions of queries, therefore small.
struct AnsweredQuery {
  double scheduled_s = 0;               // when it was asked, in seconds since the run's start
  double latency_s = 0;                 // until all of its answers were there
  std::array<float, kParts> parts_s{};  // not a number: the system doesn't tell
  std::int32_t samples = 0;
  std::int32_t lane = 0;  // that answered it, or the last part of it
};

/// The parts of a query that waited `waited_s` for a lane.
std::array<float, kParts> parts_of(double waited_s, const LatencyParts& told);

struct RunLog {
  std::vector<AnsweredQuery> queries;  // in the order in which they were answered; offline: each batch of the one query
  std::int64_t samples = 0;
  double seconds = 0;     // until the last answer
  std::int64_t late = 0;  // queries that took longer than the latency limit; server only
  bool complete = false;  // it had the least duration and number of queries
  bool stopped = false;   // a stop was requested before
  bool hopeless = false;  // it ended early, as more queries were late than may be
  bool full = false;      // it ended as no more queries are kept

  /// Shortest first.
  std::vector<double> sorted_latencies_s() const;
  /// The mean of each part over the queries for which it is known.
  std::array<std::optional<double>, kParts> mean_parts_s() const;
  /// Queries, or samples, answered in each tenth of the run, per second.
  std::vector<double> rates_of_tenths(bool of_samples) const;
};

}  // namespace evener::bench
