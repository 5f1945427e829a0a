// Lanes answer at the same time. Threads do it in real time; a simulation can do it in a time of its own.
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
  /// Lets all lanes do what `scheduler` says until it ends each of them. Its time is 0 at the start. Throws what the
  /// system threw first.
  virtual void run(QueryScheduler& scheduler) = 0;
};

/// A thread per lane that lives as long as this does; the first lane is the thread that calls run().
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
  std::int64_t round_ = 0;  // runs that were started
  int busy_ = 0;            // threads in the present one
  bool over_ = false;
  std::exception_ptr failure_;
  std::vector<char> begun_;  // lanes whose begin_lane() was called
  std::vector<std::jthread> threads_;
};

}  // namespace evener::bench
