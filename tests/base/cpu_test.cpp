#include "base/cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <set>
#include <thread>
#include <tuple>

#include "base/error.h"
#include "base/hybrid_machine.h"
#include "base/names.h"
#include "base/test_folder.h"

namespace evener {
namespace {

TEST(CpuTopology, CoresDivideTheAllowedCpus) {
  const CpuTopology& topology = cpu_topology();
  ASSERT_FALSE(topology.allowed.empty());
  EXPECT_TRUE(std::is_sorted(topology.allowed.begin(), topology.allowed.end()));
  std::multiset<int> in_cores;
  for (const auto& core : topology.cores) {
    EXPECT_FALSE(core.empty());
    in_cores.insert(core.begin(), core.end());
  }
  EXPECT_EQ(in_cores, std::multiset<int>(topology.allowed.begin(), topology.allowed.end()));
  EXPECT_FALSE(topology.model.empty());
  EXPECT_GE(topology.packages, 1);
  EXPECT_GE(topology.numa_nodes, 1);
  EXPECT_EQ(&topology, &cpu_topology());  // read once
}

// Slow cores have the lower numbers here, as on some processors.
const test::Cores kFast = {{4, 5}, {6, 7}}, kSlow = {{0}, {1}, {2}, {40}};

TEST(CpuKinds, AreToldFastestFirstAndCoresLikewise) {
  const auto topology = topology_from_xml(test::hybrid_xml(kFast, kSlow));
  ASSERT_TRUE(topology);
  EXPECT_THAT(topology->cores, testing::ElementsAre(kFast[0], kFast[1], kSlow[0], kSlow[1], kSlow[2], kSlow[3]));
  ASSERT_EQ(topology->kinds.size(), 2U);
  EXPECT_EQ(topology->kinds[0].name, "IntelCore");
  EXPECT_EQ(topology->kinds[0].cores, 2);
  EXPECT_EQ(topology->kinds[0].cpus, 4);
  EXPECT_EQ(topology->kinds[0].capacity, 1024);
  EXPECT_EQ(topology->kinds[1].capacity, 640);
  EXPECT_EQ(kinds_text(topology->kinds),
            "2 cores IntelCore (4 CPUs, capacity 1024), 4 cores IntelAtom (4 CPUs, capacity 640)");
}

TEST(CpuKinds, AreNoneWhereNobodyRanksThemAndNothingIsReadFromOtherText) {
  const auto topology = topology_from_xml(test::hybrid_xml(kFast, kSlow, false));
  ASSERT_TRUE(topology);
  EXPECT_TRUE(topology->kinds.empty());
  EXPECT_EQ(topology->cores.front(), kSlow.front());
  EXPECT_EQ(topology->cores.size(), 6U);
  EXPECT_EQ(kinds_text({}), "");
  EXPECT_FALSE(topology_from_xml("no XML"));
}

TEST(UsableCores, AreAtLeastOneAndNoMoreThanAllowed) {
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), static_cast<int>(cpu_topology().cores.size()));
}

TEST(PinThisThread, PinsAndFreesAgain) {
  const int last = cpu_topology().allowed.back();
  std::thread([last] {
    pin_this_thread({last});
    cpu_set_t set;
    ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    EXPECT_EQ(CPU_COUNT(&set), 1);
    EXPECT_TRUE(CPU_ISSET(last, &set));
    EXPECT_EQ(sched_getcpu(), last);
    pin_this_thread({});
    ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    EXPECT_EQ(CPU_COUNT(&set), static_cast<int>(cpu_topology().allowed.size()));
  }).join();
}

TEST(PinnedTo, GivesTheCpusBackThatTheThreadHad) {
  const std::vector<int>& allowed = cpu_topology().allowed;
  if (allowed.size() < 2) GTEST_SKIP() << "needs two CPUs";
  std::thread([&] {
    pin_this_thread({allowed.front()});
    cpu_set_t set;
    {
      const PinnedTo elsewhere({allowed.back()});
      ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
      EXPECT_TRUE(CPU_ISSET(allowed.back(), &set));
    }
    ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    EXPECT_EQ(CPU_COUNT(&set), 1);
    EXPECT_TRUE(CPU_ISSET(allowed.front(), &set));
    { const PinnedTo nowhere({}); }
    ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    EXPECT_EQ(CPU_COUNT(&set), 1);
  }).join();
}

TEST(PinThisThread, NamesACpuThatIsNotAllowed) {
  try {
    pin_this_thread({cpu_topology().allowed.front(), 60000});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("CPU 60000 is not one of those allowed"));
  }
  EXPECT_THROW(pin_this_thread({-1}), Error);
}

TEST(MemoryLimits, AvailableIsPartOfTotal) {
  const MemoryLimits limits = memory_limits();
  EXPECT_GT(limits.total_bytes, 10'000'000U);
  EXPECT_GT(limits.available_bytes, 0U);
  EXPECT_LE(limits.available_bytes, limits.total_bytes);
}

// Made-up trees of /proc and /sys, as containers and batch systems show them.

using test::TestFolder;
using test::write_text;

constexpr const char* kV2Mount = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

TEST(Cgroup, NothingThereMeansNoLimits) {
  const TestFolder root;
  EXPECT_EQ(memory_advice(root.path()), "close other programs") << "no limit that isn't there";
  const CgroupLimits limits = read_cgroup_limits(root.path());
  EXPECT_EQ(limits.quota_cpus, 0);
  EXPECT_FALSE(limits.memory_bytes);
  EXPECT_FALSE(limits.available_bytes);
}

TEST(Cgroup, VersionTwoTakesTheSmallestOnTheWayUp) {
  const TestFolder root;
  write_text(root / "proc/self/mountinfo", kV2Mount);
  write_text(root / "proc/self/cgroup", "0::/job/step\n");
  write_text(root / "sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  write_text(root / "sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
  write_text(root / "sys/fs/cgroup/job/memory.max", "4000000\n");
  write_text(root / "sys/fs/cgroup/job/memory.current", "3000000\n");
  write_text(root / "sys/fs/cgroup/job/memory.stat", "anon 1\ninactive_file 500000\nslab 2\n");
  write_text(root / "sys/fs/cgroup/job/step/memory.max", "8000000\n");
  const CgroupLimits limits = read_cgroup_limits(root.path());
  EXPECT_DOUBLE_EQ(limits.quota_cpus, 1.5);
  EXPECT_EQ(limits.memory_bytes, 4000000U);
  EXPECT_EQ(limits.available_bytes, 1500000U);
  const MemoryLimits memory = memory_limits(root.path());
  EXPECT_EQ(memory.total_bytes, 4000000U) << "no more than the group may have";
  EXPECT_EQ(memory.available_bytes, 1500000U);
  EXPECT_EQ(memory_advice(root.path()), "close other programs, or raise the control group's limit of " +
                                            bytes_text(4'000'000) + " in " +
                                            (root / "sys/fs/cgroup/job/memory.max").string());
}

TEST(Cgroup, AContainerWithANamespaceSeesItsOwnGroupAsTheRoot) {
  const TestFolder root;
  write_text(root / "proc/self/mountinfo", kV2Mount);
  write_text(root / "proc/self/cgroup", "0::/\n");
  write_text(root / "sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_DOUBLE_EQ(read_cgroup_limits(root.path()).quota_cpus, 2);
}

TEST(Cgroup, AContainerWithoutOneHasItsGroupMountedAtTheRoot) {
  const TestFolder root;
  write_text(root / "proc/self/mountinfo",
             "31 23 0:28 /docker/abc /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
  write_text(root / "proc/self/cgroup", "4:cpu,cpuacct:/docker/abc\n");
  write_text(root / "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
  write_text(root / "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(read_cgroup_limits(root.path()).quota_cpus, 0.5);
  write_text(root / "proc/self/cgroup", "4:cpu,cpuacct:/docker/abc/inner\n");
  write_text(root / "sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us", "20000\n");
  write_text(root / "sys/fs/cgroup/cpu/inner/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(read_cgroup_limits(root.path()).quota_cpus, 0.2);
}

TEST(Cgroup, VersionOneKnowsNoLimitAsMinusOneAndAsAHugeNumber) {
  const TestFolder root;
  write_text(root / "proc/self/mountinfo",
             "31 23 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
             "32 23 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  write_text(root / "proc/self/cgroup", "5:memory:/\n4:cpu:/\n");
  write_text(root / "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write_text(root / "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  write_text(root / "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  const CgroupLimits limits = read_cgroup_limits(root.path());
  EXPECT_EQ(limits.quota_cpus, 0);
  EXPECT_FALSE(limits.memory_bytes);
}

TEST(Cgroup, VersionOneMemoryCountsTheFileCacheAsAvailable) {
  const TestFolder root;
  write_text(root / "proc/self/mountinfo", "32 23 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  write_text(root / "proc/self/cgroup", "5:memory:/job\n");
  write_text(root / "sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1000000\n");
  write_text(root / "sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1200000\n");
  write_text(root / "sys/fs/cgroup/memory/job/memory.stat", "cache 1\ntotal_inactive_file 300000\n");
  const CgroupLimits limits = read_cgroup_limits(root.path());
  EXPECT_EQ(limits.memory_bytes, 1000000U);
  EXPECT_EQ(limits.available_bytes, 100000U);
  EXPECT_EQ(memory_advice(root.path()), "close other programs, or raise the control group's limit of " +
                                            bytes_text(1'000'000) + " in " +
                                            (root / "sys/fs/cgroup/memory/job/memory.limit_in_bytes").string());
}

TEST(Cgroup, AnInnerGroupMayHaveMoreLeftThanTheOneAroundIt) {
  const TestFolder root;
  write_text(root / "proc/self/mountinfo", kV2Mount);
  write_text(root / "proc/self/cgroup", "0::/job/step\n");
  for (const auto& [group, limit, used] :
       {std::tuple("job", "9000000", "8500000"), {"job/step", "4000000", "1000000"}}) {
    write_text(root / (std::string("sys/fs/cgroup/") + group + "/memory.max"), limit);
    write_text(root / (std::string("sys/fs/cgroup/") + group + "/memory.current"), used);
  }
  const CgroupLimits limits = read_cgroup_limits(root.path());
  EXPECT_EQ(limits.memory_bytes, 4000000U);
  EXPECT_EQ(limits.available_bytes, 500000U);
  EXPECT_EQ(limits.memory_file, (root / "sys/fs/cgroup/job/memory.max").string()) << "the one that binds";
  write_text(root / "sys/fs/cgroup/job/step/memory.current", "3900000");
  EXPECT_EQ(read_cgroup_limits(root.path()).memory_file, (root / "sys/fs/cgroup/job/step/memory.max").string());

  // A limit of the process that leaves more isn't the one that is named.
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_DATA, &before), 0);
  const rlimit large{std::min<rlim_t>(rlim_t{1} << 50, before.rlim_max), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &large), 0);
  const std::string advice = memory_advice(root.path());
  setrlimit(RLIMIT_DATA, &before);
  EXPECT_THAT(advice, testing::HasSubstr("the control group's limit of " + bytes_text(4'000'000)));
}

TEST(OomKills, AreCountedByTheKernel) {
  const TestFolder root;
  EXPECT_EQ(oom_kills(root.path()), 0U);
  write_text(root / "proc/vmstat", "nr_free_pages 12\noom_kill 7\nunevictable_pgs_culled 3\n");
  EXPECT_EQ(oom_kills(root.path()), 7U);
}

TEST(Cgroup, NonsenseAndPathsThatClimbOutAreIgnored) {
  const TestFolder root;
  write_text(root / "proc/self/mountinfo", kV2Mount);
  write_text(root / "proc/self/cgroup", "nonsense\n0::/../../escape\n");
  write_text(root / "sys/fs/cgroup/cpu.max", "many few\n");
  write_text(root / "sys/escape/cpu.max", "100000 100000\n");
  EXPECT_EQ(read_cgroup_limits(root.path()).quota_cpus, 0);
}

}  // namespace
}  // namespace evener
