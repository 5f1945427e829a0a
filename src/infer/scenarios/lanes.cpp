#include "infer/scenarios/lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/this_work.h"

namespace evener::inference {
namespace {

/// A waiting lane wakes at least this often, to notice a stop request.
constexpr double kLongestWait_s = 0.05;

class ThreadLanes final : public Lanes {
 public:
  ThreadLanes(System& system, int lanes) : system_(system), begun_(static_cast<std::size_t>(lanes)) {
    try {
      for (int lane = 1; lane < lanes; ++lane) threads_.emplace_back(as_this_work([this, lane] { serve(lane); }));
    } catch (const std::system_error& problem) {
      end();
      throw Error(
          fmt::format("{} lanes need as many threads, and the system refuses to start them: {}. Use fewer replicas",
                      lanes, problem.what()));
    }
  }
  ~ThreadLanes() override { end(); }

  int count() const override { return static_cast<int>(threads_.size()) + 1; }

  void run(QueryScheduler& scheduler) override {
    {
      const std::lock_guard lock(mutex_);
      scheduler_ = &scheduler;
      busy_ = static_cast<int>(threads_.size());
      failure_ = nullptr;
      begin_s_ = now_s();
      ++round_;
    }
    started_.notify_all();
    work(0);
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [this] { return busy_ == 0; });
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void end() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    started_.notify_all();
  }

  void serve(int lane) {
    std::int64_t seen = 0;
    while (true) {
      {
        std::unique_lock lock(mutex_);
        started_.wait(lock, [&] { return over_ || round_ != seen; });
        if (over_) return;
        seen = round_;
      }
      work(lane);
      const std::lock_guard lock(mutex_);
      if (--busy_ == 0) finished_.notify_all();
    }
  }

  void work(int lane) {
    try {
      char& begun = begun_[static_cast<std::size_t>(lane)];
      if (!begun) system_.begin_lane(lane);
      begun = 1;
      answer_all(lane);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      changed_.notify_all();
    }
  }

  void answer_all(int lane) {
    std::unique_lock lock(mutex_);
    while (!failure_) {
      const double now = now_s() - begin_s_;
      const NextStep step = scheduler_->next(lane, now);
      if (step.kind == NextStep::Kind::kEnd) break;
      if (step.kind == NextStep::Kind::kWait) {
        const double wait_s = std::min(step.until_s - now, kLongestWait_s);
        if (wait_s > 0) changed_.wait_for(lock, std::chrono::duration<double>(wait_s));
        continue;
      }
      lock.unlock();
      Answered answered;
      answered.begin_s = now_s() - begin_s_;
      answered.parts = system_.answer(lane, step.issued.query);
      answered.end_s = now_s() - begin_s_;
      lock.lock();
      scheduler_->done(lane, step.issued, answered);
      changed_.notify_all();
    }
    changed_.notify_all();  // wakes lanes that wait for an answer of this one, which won't come
  }

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

}  // namespace

std::unique_ptr<Lanes> thread_lanes(System& system, int lanes) {
  return std::make_unique<ThreadLanes>(system, lanes);
}

}  // namespace evener::inference
