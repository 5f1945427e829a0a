// What Linux tells of threads that wait for a CPU.
#include "base/scheduler.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/busy_loop.h"
#include "base/clock.h"
#include "base/cpu.h"

namespace evener {
namespace {

constexpr double kLongest_s = 60;

TEST(Scheduler, WhoRunsWaitsForNoCpu) {
  ThreadId self = scheduler().this_thread();
  self.turns_ahead = scheduler().turns_ahead();
  for (int look = 0; look < 1000; ++look) EXPECT_FALSE(scheduler().waits_for_cpu(self));
}

TEST(Scheduler, WhoSleepsWaitsForNoCpu) {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_over = false;
  std::atomic<pid_t> id{0};
  std::thread sleeper([&] {
    id = scheduler().this_thread().thread;
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return is_over; });
  });
  while (id == 0) std::this_thread::yield();
  const ThreadId thread{getpid(), id};
  // It may not have fallen asleep yet, on a machine with much to do.
  int asleep = 0;
  for (const Stopwatch clock; asleep < 100 && clock.seconds() < kLongest_s;) {
    asleep = scheduler().waits_for_cpu(thread) ? 0 : asleep + 1;
  }
  EXPECT_EQ(asleep, 100);
  {
    const std::lock_guard lock(mutex);
    is_over = true;
    changed.notify_all();
  }
  sleeper.join();
}

TEST(Scheduler, OfTwoOnOneCpuOneWaitsAndIsDelayed) {
  const std::vector<int>& cpus = cpu_topology().allowed;
  if (cpus.size() < 2) GTEST_SKIP() << "needs a CPU to look from";
  if (scheduler().delayed_ns() < 0) GTEST_SKIP() << "this kernel doesn't count how long threads are delayed";
  const test::BusyLoop program(cpus.front());
  std::atomic<pid_t> id{0};
  std::atomic<bool> is_over{false};
  std::atomic<std::int64_t> delayed_ns{0};
  std::thread thread([&] {
    pin_this_thread({cpus.front()});
    const std::int64_t before_ns = scheduler().delayed_ns();
    id = scheduler().this_thread().thread;
    while (!is_over) {
    }
    delayed_ns = scheduler().delayed_ns() - before_ns;
  });
  while (id == 0) std::this_thread::yield();
  int waiting = 0;
  for (const Stopwatch clock; waiting < 100 && clock.seconds() < kLongest_s;) {
    if (scheduler().waits_for_cpu({getpid(), id})) ++waiting;
  }
  is_over = true;
  thread.join();
  EXPECT_EQ(waiting, 100);
  EXPECT_GT(delayed_ns, 0);
}

TEST(Scheduler, AThreadThatHasEndedWaitsForNoCpu) {
  std::atomic<pid_t> id{0};
  std::thread([&] { id = scheduler().this_thread().thread; }).join();
  EXPECT_FALSE(scheduler().waits_for_cpu({getpid(), id}));
}

}  // namespace
}  // namespace evener
