// Lanes answer queries concurrently. ThreadLanes do so in real time; a simulation in tests can use a time of its own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "bench/system.h"

namespace evener::bench {

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
class ThreadLanes final : public Lanes {
 public:
  ThreadLanes(System& system, int lanes);
  ~ThreadLanes() override;

  int count() const override { return static_cast<int>(threads_.size()) + 1; }
  void run(QueryScheduler& scheduler) override;

 private:
  void end();
  void serve(int lane);
  void work(int lane);
  void answer_all(int lane);

  System& system_;
  std::mutex mutex_;
  std::condition_variable started_, changed_, finished_;
  QueryScheduler* scheduler_ = nullptr;
  double begin_s_ = 0;
  std::int64_t round_ = 0;  // number of runs started
  int busy_ = 0;            // threads still busy in the present run
  bool over_ = false;
  std::exception_ptr failure_;
  std::vector<char> begun_;  // by lane: whether begin_lane() was called
  std::vector<std::jthread> threads_;
};

}  // namespace evener::bench
