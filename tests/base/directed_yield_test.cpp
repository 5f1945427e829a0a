// Threads that wait for each other, and give their CPUs to those who have lost theirs.
#include "base/directed_yield.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <latch>
#include <thread>
#include <vector>

namespace evener {
namespace {

constexpr int kThreads = 3;

/// A team whose threads meet after every step.
struct MeetingTeam {
  std::array<StepThread, kThreads> threads;
  std::array<std::atomic<std::uint32_t>, kThreads> steps{};
  std::atomic<std::uint32_t> word{0}, sleepers{0};

  void meet(std::size_t self) {
    threads[self].give_back();
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

std::vector<int> cpus_of_this_thread() {
  cpu_set_t cpus;
  std::vector<int> numbers;
  if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return numbers;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<unsigned>(cpu), &cpus)) numbers.push_back(cpu);
  }
  return numbers;
}

TEST(DirectedYield, NobodyPassesBeforeAllHaveCome) {
  MeetingTeam team;
  constexpr int kSteps = 2000;
  std::atomic<int> total{0};
  std::atomic<bool> is_whole{true};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      team.threads[i].begin(static_cast<int>(i));
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
  const std::vector<int> before = cpus_of_this_thread();
  MeetingTeam team;
  std::array<std::vector<int>, kThreads> after;
  // Who is moved is bound to one CPU until the one that moved it has come to the next line.
  std::latch nobody_waits(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      team.threads[i].begin(static_cast<int>(i));
      for (std::size_t step = 0; step < 60; ++step) {
        // Who sleeps doesn't run, and is given a CPU by those who wait.
        if (step % kThreads == i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        team.meet(i);
      }
      nobody_waits.arrive_and_wait();
      after[i] = cpus_of_this_thread();
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& cpus : after) EXPECT_EQ(cpus, before);
}

TEST(DirectedYield, WhoWaitsForLongIsWoken) {
  MeetingTeam team;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      team.threads[i].begin(static_cast<int>(i));
      if (i == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      team.meet(i);
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& steps : team.steps) EXPECT_EQ(steps, 1U);
}

}  // namespace
}  // namespace evener
