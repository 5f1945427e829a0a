#include "measure/machine.h"

#include <gtest/gtest.h>

#include "base/own_program.h"
#include "base/test_folder.h"
#include "measure/peaks.h"

namespace evener::measure {
namespace {

TEST(Machine, ReadsTheKernelsFiles) {
  const test::TestFolder root;
  test::write_text(root / "proc/meminfo", "MemTotal:       16000 kB\nMemFree: 5 kB\n");
  test::write_text(root / "proc/stat", "cpu 1 2 3 4\ncpu0 1 2 3 4\ncpu1 1 2 3 4\ncpu5 1 2 3 4\nintr 1\n");
  test::write_text(root / "proc/loadavg", "0.75 0.50 0.25 1/100 42\n");
  test::write_text(root / "etc/os-release", "NAME=X\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
  test::write_text(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  test::write_text(root / "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n");
  test::write_text(root / "sys/class/dmi/id/product_name", "KVM\n");
  const record::MachineRecord machine = read_machine(root.path());
  EXPECT_EQ(machine.memory_bytes, 16000u * 1024);
  EXPECT_EQ(machine.online_cpus, 3);
  EXPECT_EQ(machine.load_1min, 0.75);
  EXPECT_EQ(machine.os, "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(machine.governor, "performance/powersave");
  EXPECT_EQ(machine.virtualization, "KVM");
}

TEST(Machine, UnknownThingsAreAbsent) {
  const test::TestFolder root;
  const record::MachineRecord machine = read_machine(root.path());
  EXPECT_EQ(machine.governor, std::nullopt);
  EXPECT_EQ(machine.load_1min, std::nullopt);
  EXPECT_EQ(machine.virtualization, std::nullopt);
  EXPECT_GE(machine.online_cpus, 1);
  EXPECT_GT(machine.memory_bytes, 0u);  // from base/cpu.h
}

TEST(Machine, KnowsContainersAndWsl) {
  const test::TestFolder docker, wsl;
  test::write_text(docker / ".dockerenv", "");
  EXPECT_EQ(read_machine(docker.path()).virtualization, "container");
  test::write_text(wsl / "proc/version", "Linux version 5.15.90.1-microsoft-standard-WSL2\n");
  EXPECT_EQ(read_machine(wsl.path()).virtualization, "WSL2");
}

TEST(Machine, DescribesThisOne) {
  const record::MachineRecord machine = read_machine();
  EXPECT_GE(machine.cores, 1);
  EXPECT_GE(machine.logical_cpus, machine.cores);
  EXPECT_NE(machine.kernel.find("Linux"), std::string::npos);
}

TEST(Versions, NameProgramCompilerAndBuild) {
  const auto versions = program_versions("1.2.3");
  EXPECT_EQ(versions.at("evener"), "1.2.3");
  EXPECT_FALSE(versions.at("compiler").empty());
  EXPECT_TRUE(versions.contains("build"));
  EXPECT_EQ(versions.at("program"), program_identity());
  EXPECT_EQ(versions.at("program").size(), 16U);
}

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20, kGiB = kMiB << 10;

TEST(Peaks, ReadsNoMoreThanAQuarterOfTheMemory) {
  EXPECT_EQ(read_by_each_bytes(1, 64 * kGiB), 128 * kMiB);
  EXPECT_EQ(read_by_each_bytes(128, 64 * kGiB), 128 * kMiB);
  EXPECT_EQ(read_by_each_bytes(128, 4 * kGiB), 8 * kMiB);
  EXPECT_EQ(read_by_each_bytes(3, kGiB), kGiB / 12 / 64 * 64);  // whole cache lines
  EXPECT_EQ(read_by_each_bytes(128, 0), kMiB);
}

}  // namespace
}  // namespace evener::measure
