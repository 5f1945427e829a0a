// Ranks that are bound to a CPU each, one of which has lost its own.
#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <thread>

#include "base/cpu.h"
#include "comm/ranks_helpers.h"
#include "comm/shared_group.h"

namespace evener::test {
namespace {

using namespace std::chrono_literals;

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
    if (usable_cpus() < 2) GTEST_SKIP() << "needs two CPUs";
  }
};

INSTANTIATE_TEST_SUITE_P(, LateRank, testing::Values(RanksAre::kThreads, RanksAre::kProcesses),
                         [](const auto& info) { return text_of(info.param); });

TEST_P(LateRank, GetsTheCpuOfTheOneThatWaitsForIt) {
  const std::vector<int>& cpus = cpu_topology().allowed;
  comm::SharedGroup group(group_options(2));
  run_ranks(GetParam(), 2, [&](int rank) {
    const int own = cpus[static_cast<std::size_t>(rank)], others = cpus[static_cast<std::size_t>(1 - rank)];
    pin_this_thread({own});
    const auto end = group.join(rank, 0, "threads");
    end->compute_here();
    end->barrier();
    if (rank == 1) {
      // Who sleeps runs no more than who waits for a CPU.
      for (int look = 0; look < 30'000 && own_cpu() != others; ++look) std::this_thread::sleep_for(1ms);
      EXPECT_EQ(own_cpu(), others);
    }
    end->barrier();
  });
}

TEST_P(LateRank, KeepsItsCpuIfItWasBoundElsewhereSince) {
  const std::vector<int>& cpus = cpu_topology().allowed;
  comm::SharedGroup group(group_options(2));
  run_ranks(GetParam(), 2, [&](int rank) {
    const int own = cpus[static_cast<std::size_t>(rank)];
    pin_this_thread({own});
    const auto end = group.join(rank, 0, "threads");
    end->compute_here();
    pin_this_thread({own});
    end->barrier();
    if (rank == 1) std::this_thread::sleep_for(20ms);
    end->barrier();
    EXPECT_EQ(own_cpu(), own);
  });
}

}  // namespace
}  // namespace evener::test
