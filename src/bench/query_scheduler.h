// Who says which lane does what next: a scenario's rules as plain bookkeeping, without threads and without a clock of
// its own. Whoever runs lanes (bench/lanes.h) tells it the time. Inside bench/ and its tests only.
#pragma once

#include <cstdint>
#include <limits>

#include "bench/system.h"

namespace evener::bench {

/// What a lane answers at once: a query, a part of one, or several queries that follow each other.
struct IssuedQuery {
  Query query;
  std::int64_t number = 0;  // of the (first) query, from 0
};

/// What a lane does next.
struct NextStep {
  enum class Kind : std::uint8_t { kAnswer, kWait, kEnd };
  Kind kind = Kind::kEnd;
  IssuedQuery issued = {};                                   // kAnswer
  double until_s = std::numeric_limits<double>::infinity();  // kWait: or until another lane is done
};

/// When an issued query was answered, in seconds since the run's start.
struct Answered {
  double begin_s = 0, end_s = 0;
  LatencyParts parts = {};
};

class QueryScheduler {
 public:
  virtual ~QueryScheduler() = default;
  /// What `lane`, which is idle, does at `now_s`. Called by one lane at a time, like done().
  virtual NextStep next(int lane, double now_s) = 0;
  virtual void done(int lane, const IssuedQuery& issued, const Answered& answered) = 0;
};

}  // namespace evener::bench
