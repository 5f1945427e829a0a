// Lanes answer queries concurrently. Threads do so in real time; a simulation in tests can use a time of its own.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "infer/scenarios/system.h"

namespace evener::inference {

/// What a lane answers in one call of System::answer(): a query, a part of a query, or several consecutive queries.
struct IssuedQuery {
  Query query;
  std::int64_t number = 0;  // of the (first) query, from 0
};

/// What a lane does next.
struct NextStep {
  enum class Kind : std::uint8_t { kAnswer, kWait, kEnd };
  Kind kind = Kind::kEnd;
  IssuedQuery issued = {};                                   // kAnswer
  double until_s = std::numeric_limits<double>::infinity();  // kWait: wait until then, or until any lane is done
};

/// When a lane began and ended an IssuedQuery, in seconds since the run's start.
struct Answered {
  double begin_s = 0, end_s = 0;
  LatencyParts parts = {};
};

class QueryScheduler {
 public:
  virtual ~QueryScheduler() = default;
  /// What the idle `lane` does next, at the time `now_s`. Calls of next() and done() are serialised over all lanes.
  virtual NextStep next(int lane, double now_s) = 0;
  virtual void done(int lane, const IssuedQuery& issued, const Answered& answered) = 0;
};

class Lanes {
 public:
  virtual ~Lanes() = default;
  virtual int count() const = 0;
  /// Lets all lanes do what `scheduler` says until it has ended each of them. The scheduler's time starts at 0. Throws
  /// the system's first exception.
  virtual void run(QueryScheduler& scheduler) = 0;
};

/// Lanes as threads, which live as long as the object; lane 0 is the thread that calls run().
std::unique_ptr<Lanes> thread_lanes(System& system, int lanes);

}  // namespace evener::inference
