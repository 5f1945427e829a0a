#include "comm/communication_thread.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "base/stop.h"
#include "base/this_work.h"
#include "comm/ranks_helpers.h"
#include "comm/shared_group.h"

namespace evener::test {
namespace {

using comm::CommunicationThread;
using comm::Pending;

std::ptrdiff_t thread_count() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

TEST(CommunicationThread, RunsTasksInTheirOrder) {
  CommunicationThread thread;
  std::vector<int> order;
  std::vector<Pending> pending;
  for (int i = 0; i < 100; ++i) {
    pending.push_back(thread.run([&order, i] {
      if (i == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      order.push_back(i);
    }));
  }
  pending.back().wait();
  ASSERT_EQ(order.size(), 100U);
  EXPECT_TRUE(std::ranges::is_sorted(order));
  pending.front().wait();
  Pending().wait();  // of nothing
}

TEST(CommunicationThread, StartsWithTheFirstTask) {
  const auto before = thread_count();
  CommunicationThread thread;
  EXPECT_EQ(thread_count(), before);
  std::thread::id id;
  thread.run([&] { id = std::this_thread::get_id(); }).wait();
  EXPECT_NE(id, std::this_thread::get_id());
}

TEST(CommunicationThread, EndsAfterTheTasksThatWereGiven) {
  std::atomic<int> ran = 0;
  {
    CommunicationThread thread;
    for (int i = 0; i < 10; ++i) {
      thread.run([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ++ran;
      });
    }
  }
  EXPECT_EQ(ran, 10);
}

TEST(CommunicationThread, WaitReturnsAfterWhatTheTaskHeldIsFree) {
  CommunicationThread thread;
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = held;
  auto pending = thread.run([held = std::move(held)] { EXPECT_EQ(*held, 1); });
  pending.wait();
  EXPECT_TRUE(watched.expired());
}

TEST(CommunicationThread, AfterAFailureNothingMoreIsRun) {
  CommunicationThread thread;
  bool ran = false;
  Pending good = thread.run([] {});
  Pending bad = thread.run([] { throw Error("rank 3 is gone"); });
  Pending later = thread.run([&] { ran = true; });
  good.wait();
  EXPECT_EQ(error_of([&] { bad.wait(); }), "rank 3 is gone");
  EXPECT_EQ(error_of([&] { later.wait(); }), "rank 3 is gone");
  EXPECT_EQ(error_of([&] { thread.run([&] { ran = true; }).wait(); }), "rank 3 is gone");
  EXPECT_FALSE(ran);
}

// A rank's CPU may be exchanged with another rank's: its sums don't stay there.
TEST(CommunicationThread, IsNotBoundToTheCpuOfTheRankThatStartsIt) {
  const std::vector<int>& cpus = cpu_topology().allowed;
  if (cpus.size() < 2) GTEST_SKIP() << "needs two CPUs";
  std::jthread rank([&] {
    pin_this_thread({cpus.front()});
    CommunicationThread thread;
    int found = 0;
    thread
        .run([&] {
          cpu_set_t own;
          found = sched_getaffinity(0, sizeof own, &own) == 0 ? CPU_COUNT(&own) : 0;
        })
        .wait();
    EXPECT_EQ(found, static_cast<int>(cpus.size()));
  });
}

TEST(CommunicationThread, WorksForTheJobOfTheRankThatStartsIt) {
  StopFlag stop;
  stop.request();
  const WorkScope scope(this_work_until(&stop));
  CommunicationThread thread;
  bool is_told = false;
  thread.run([&] { is_told = stop_requested(); }).wait();
  EXPECT_TRUE(is_told);
}

// As it is used: gradients are summed bucket by bucket while the rank goes on.
TEST(CommunicationThread, SumsWhileTheCallerGoesOn) {
  constexpr std::size_t kBuckets = 20, kSize = 300;
  comm::SharedGroup group(group_options(2, 256, 2));
  for (const RanksAre how : {RanksAre::kThreads, RanksAre::kProcesses}) {
    run_ranks(how, 2, [&](int rank) {
      const auto buckets = group.join(rank, 0, "threads"), control = group.join(rank, 1, "threads");
      auto values = values_of(rank, kBuckets * kSize);
      std::vector<Pending> pending;
      CommunicationThread thread;
      for (std::size_t i = 0; i < kBuckets; ++i) {
        const auto bucket = std::span(values).subspan(i * kSize, kSize);
        pending.push_back(thread.run([&buckets, bucket] { buckets->all_reduce(bucket); }));
        control->barrier();
      }
      for (Pending& each : pending) each.wait();
      EXPECT_EQ(values, sums_of({0, 1}, kBuckets * kSize));
    });
  }
}

}  // namespace
}  // namespace evener::test
