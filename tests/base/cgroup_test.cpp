// Made-up trees of /proc and /sys, as containers and batch systems show them.
#include "base/cpu.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"

namespace evener {
namespace {

using test::TestFolder;
using test::write_text;

constexpr const char* kV2Mount = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

TEST(Cgroup, NothingThereMeansNoLimits) {
  const TestFolder root;
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
