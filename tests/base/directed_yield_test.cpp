// Threads that wait for each other, and give their CPUs to those who have lost theirs.
#include "base/directed_yield.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <fstream>
#include <latch>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "base/kernels_cpus.h"

namespace evener {
namespace {

using test::kernels_cpus;

constexpr int kThreads = 2;

/// A team whose threads meet after every step.
struct MeetingTeam {
  std::array<StepThread, kThreads> threads;
  std::array<PlaceTie, kThreads> ties;
  std::array<std::atomic<std::uint32_t>, kThreads> steps{};
  std::atomic<std::uint32_t> word{0}, sleepers{0};

  void meet(std::size_t self) {
    threads[self].settle();
    const std::uint32_t step = steps[self] + 1;
    steps[self] = step;
    announce(word, sleepers);
    std::size_t missing = 0;
    const auto done = [&] {
      for (missing = 0; missing < kThreads; ++missing) {
        if (steps[missing] < step) return false;
      }
      return true;
    };
    StepWait(threads[self], kThreads).until(word, sleepers, done, [&] { return &threads[missing]; });
  }
};

TEST(DirectedYield, NobodyPassesBeforeAllHaveCome) {
  MeetingTeam team;
  constexpr int kSteps = 2000;
  std::atomic<int> total{0};
  std::atomic<bool> is_whole{true};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      team.ties[i].begin(team.threads[i].place(), static_cast<int>(i));
      for (int step = 1; step <= kSteps; ++step) {
        ++total;
        team.meet(i);
        if (total < kThreads * step) is_whole = false;
        team.meet(i);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(is_whole);
  EXPECT_EQ(total, kThreads * kSteps);
}

TEST(DirectedYield, WhoGaveOrGotACpuMayRunWhereItMightBefore) {
  assume_contention(std::numeric_limits<std::int64_t>::max());
  const std::vector<int> before = kernels_cpus();
  MeetingTeam team;
  std::array<std::vector<int>, kThreads> after;
  // Who is moved is bound to one CPU until the one that moved it has come to the next line.
  std::latch nobody_waits(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      team.ties[i].begin(team.threads[i].place(), static_cast<int>(i));
      for (std::size_t step = 0; step < 60; ++step) {
        if (step % kThreads == i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        team.meet(i);
      }
      nobody_waits.arrive_and_wait();
      after[i] = kernels_cpus();
    });
  }
  for (auto& thread : threads) thread.join();
  assume_contention(0);
  for (const auto& cpus : after) EXPECT_EQ(cpus, before);
}

TEST(DirectedYield, WhoWaitsForLongIsWoken) {
  MeetingTeam team;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      team.ties[i].begin(team.threads[i].place(), static_cast<int>(i));
      if (i == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      team.meet(i);
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& steps : team.steps) EXPECT_EQ(steps, 1U);
}

/// Returns when the thread sleeps, or is no more.
void await_sleep(pid_t thread) {
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
  for (std::string state = "?"; state != "S";) {
    std::ifstream stat(path);
    std::string text((std::istreambuf_iterator<char>(stat)), {});
    if (text.empty()) return;
    state = text.substr(text.rfind(')') + 2, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// How so many threads that sleep on one word were woken by one call of announce(): 0 each, or ETIMEDOUT.
std::vector<int> woken(std::uint32_t count) {
  std::atomic<std::uint32_t> word{7}, sleepers{0};
  std::vector<int> ends(count, -1);
  std::vector<std::atomic<pid_t>> ids(count);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      ++sleepers;
      ids[i] = static_cast<pid_t>(syscall(SYS_gettid));
      const timespec limit{10, 0};  // StepWait looks again by itself, which would hide that nobody woke it
      const long end = syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, 7U, &limit, nullptr, 0);
      ends[i] = end == 0 ? 0 : errno;
      --sleepers;
    });
  }
  for (auto& id : ids) {
    while (id == 0) std::this_thread::yield();
    await_sleep(id);
  }
  announce(word, sleepers);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(word, 8U);
  return ends;
}

TEST(DirectedYield, ALoneSleeperIsWokenAndSoAreSeveral) {
  // A thread may be woken between telling its number and falling asleep: then the word has changed already (EAGAIN).
  for (const std::uint32_t count : {1U, 2U, 3U}) {
    for (const int end : woken(count)) EXPECT_NE(end, ETIMEDOUT) << "of " << count;
  }
}

}  // namespace
}  // namespace evener
