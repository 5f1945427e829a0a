// Ranks that are bound to a CPU each, one of which has lost its own.
#include <gtest/gtest.h>
#include <sched.h>

#include <limits>

#include "base/busy_loop.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/directed_yield.h"
#include "comm/ranks_helpers.h"
#include "comm/shared_group.h"

namespace evener::test {
namespace {

constexpr double kLongest_s = 60;

/// The only CPU that this thread may run on; -1 of several.
int own_cpu() {
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof cpus, &cpus) != 0 || CPU_COUNT(&cpus) != 1) return -1;
  int cpu = 0;
  while (!CPU_ISSET(static_cast<unsigned>(cpu), &cpus)) ++cpu;
  return cpu;
}

class LateRank : public testing::TestWithParam<RanksAre> {
 protected:
  void SetUp() override {
    if (cpu_topology().allowed.size() < 2 || usable_cpus() < 2) GTEST_SKIP() << "needs two CPUs";
    if (cpu_topology().quota_cpus > 0) GTEST_SKIP() << "nothing is given away under a CPU quota";
    if (scheduler().delayed_ns() < 0) GTEST_SKIP() << "this kernel doesn't count how long threads are delayed";
    assume_contention(std::numeric_limits<std::int64_t>::max());
  }
  void TearDown() override { assume_contention(0); }
};

INSTANTIATE_TEST_SUITE_P(, LateRank, testing::Values(RanksAre::kThreads, RanksAre::kProcesses),
                         [](const auto& info) { return text_of(info.param); });

TEST_P(LateRank, GetsTheCpuOfTheOneThatWaitsForIt) {
  const std::vector<int>& cpus = cpu_topology().allowed;
  comm::SharedGroupOptions options = group_options(2);
  options.cpus = 2;  // not as few as a quota leaves
  comm::SharedGroup group(options);
  run_ranks(GetParam(), 2, [&](int rank) {
    const int own = cpus[static_cast<std::size_t>(rank)], others = cpus[static_cast<std::size_t>(1 - rank)];
    pin_this_thread({own});
    const auto end = group.join(rank, 0, "threads");
    end->compute_here();
    end->barrier();
    if (rank == 1) {
      const BusyLoop program(own);
      bool had_others = false;
      for (const Stopwatch clock; !had_others && clock.seconds() < kLongest_s;) had_others = own_cpu() == others;
      EXPECT_TRUE(had_others);
    }
    end->barrier();
  });
}

TEST_P(LateRank, KeepsItsCpuIfItWasBoundElsewhereSince) {
  const std::vector<int>& cpus = cpu_topology().allowed;
  comm::SharedGroupOptions options = group_options(2);
  options.cpus = 2;  // not as few as a quota leaves
  comm::SharedGroup group(options);
  run_ranks(GetParam(), 2, [&](int rank) {
    const int own = cpus[static_cast<std::size_t>(rank)];
    pin_this_thread({own});
    const auto end = group.join(rank, 0, "threads");
    end->compute_here();
    pin_this_thread({own});
    end->barrier();
    if (rank == 1) {
      const BusyLoop program(own);
      for (const Stopwatch clock; clock.seconds() < 0.1;) {
      }
    }
    end->barrier();
    EXPECT_EQ(own_cpu(), own);
  });
}

}  // namespace
}  // namespace evener::test
