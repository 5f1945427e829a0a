// Lanes answer queries concurrently. ThreadLanes do so in real time; a simulation in tests can use a time of its own.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "bench/query_scheduler.h"

namespace evener::bench {

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
