#include "measure/process_sampler.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/child.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/test_folder.h"
#include "measure/machine.h"
#include "measure/sensors/proc_files.h"

namespace evener::measure {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStatus =
    "Name:\tevener\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\nVmSwap:\t    16 kB\nThreads:\t3\n";

/// /proc of a machine with two CPUs; ticks of the process, of all CPUs, and of each.
void put_proc(const test::TestFolder& root, int process_ticks, int cpu0_busy, int cpu1_busy, int steal = 0) {
  test::write_text(root / "proc/self/stat",
                   "42 (a (strange) name) R 1 1 1 0 -1 4194560 5 6 7 8 " + std::to_string(process_ticks / 2) + " " +
                       std::to_string(process_ticks - process_ticks / 2) + " 900 900 20 0 1 0 5 6 7\n");
  const auto line = [&](const std::string& name, int busy, int idle) {
    return name + " " + std::to_string(busy) + " 0 0 " + std::to_string(idle) + " 0 0 0 " + std::to_string(steal) +
           " 0 0\n";
  };
  test::write_text(root / "proc/stat", line("cpu ", cpu0_busy + cpu1_busy, 1000) +
                                           line("cpu0", cpu0_busy, 500 - cpu0_busy) +
                                           line("cpu1", cpu1_busy, 500 - cpu1_busy) + "intr 5 6\n");
  test::write_text(root / "proc/self/status", kStatus);
  test::write_text(root / "proc/self/smaps_rollup", "55 rollup\nRss:  1024 kB\nPss:   512 kB\nPss_Dirty: 3 kB\n");
}

TEST(SamplerReadings, UsageBetweenTwoMoments) {
  const test::TestFolder root;
  put_proc(root, 100, 100, 50);
  Counters before = read_counters(root.path());
  put_proc(root, 250, 200, 150, 10);
  Counters after = read_counters(root.path());
  before.time_s = 10;
  after.time_s = 11;
  ASSERT_EQ(sysconf(_SC_CLK_TCK), 100) << "the numbers of this test are for 100 ticks per second";
  const Usage usage = usage_between(before, after);
  EXPECT_DOUBLE_EQ(*usage.process_percent, 150);
  EXPECT_DOUBLE_EQ(*usage.process_cpu_s, 1.5);
  EXPECT_DOUBLE_EQ(*usage.others_percent, 50);
  EXPECT_DOUBLE_EQ(*usage.steal_percent, 10);
  ASSERT_EQ(usage.core_percent.size(), 2u);
  EXPECT_GT(usage.core_percent[0], 0);
}

TEST(SamplerReadings, TimeThatTheHostTookOfACoreWasNotBusyHere) {
  Counters before, after;
  after.time_s = 1;
  before.cores = {{.busy = 100, .steal = 5, .idle = 50}, {.busy = 10, .steal = 0, .idle = 90}};
  after.cores = {{.busy = 130, .steal = 15, .idle = 110}, {.busy = 10, .steal = 0, .idle = 90}};
  EXPECT_THAT(usage_between(before, after).core_percent, testing::ElementsAre(30, 0));
}

TEST(OthersLoad, IsWhatIsBusyWithoutThisProcess) {
  const test::TestFolder root;
  put_proc(root, 100, 100, 50);
  const OthersLoad load(root.path());
  EXPECT_FALSE(load.share()) << "no time has passed";
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  put_proc(root, 200, 200, 50);
  EXPECT_EQ(load.share(), 0.0) << "all of it was this process";
  put_proc(root, 100, 100 + 10'000'000, 50);
  EXPECT_EQ(load.share(), 1.0);
  put_proc(root, 100, 100, 50, 10'000'000);
  EXPECT_EQ(load.share(), 1.0) << "the host of a virtual machine had it";
  std::filesystem::remove(root.path() / "proc/stat");
  EXPECT_FALSE(load.share());
}

TEST(OthersLoad, IsToldOnlyWhereItIsMuch) {
  EXPECT_EQ(others_text(0), "");
  EXPECT_EQ(others_text(0.09), "");
  EXPECT_THAT(others_text(0.426), testing::HasSubstr("others used 43 % of this machine's CPUs"));
}

TEST(SamplerReadings, OthersNeverFallBelowZeroAndShortWindowsSayNothing) {
  Counters before, after;
  before.time_s = 0;
  after.time_s = 1;
  before.process_ticks = 0;
  after.process_ticks = 100;
  before.all = CpuTicks{0, 0, 0};
  after.all = CpuTicks{98, 0, 2};
  EXPECT_EQ(usage_between(before, after).others_percent, 0);
  after.time_s = 0.01;
  EXPECT_EQ(usage_between(before, after).process_percent, std::nullopt);
}

TEST(SamplerReadings, MissingFilesAreAbsentNotZero) {
  const test::TestFolder root;
  const Counters counters = read_counters(root.path());
  EXPECT_EQ(counters.process_ticks, std::nullopt);
  EXPECT_EQ(counters.all, std::nullopt);
  const MemoryReading memory = read_memory(root.path(), true);
  EXPECT_EQ(memory.rss_bytes, std::nullopt);
  EXPECT_EQ(memory.pss_bytes, std::nullopt);
  EXPECT_EQ(read_throttle_events(root.path()), std::nullopt);
}

TEST(SamplerReadings, MemoryAndThrottling) {
  const test::TestFolder root;
  put_proc(root, 0, 0, 0);
  test::write_text(root / "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3\n");
  test::write_text(root / "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "4\n");
  const MemoryReading memory = read_memory(root.path(), true);
  EXPECT_EQ(memory.rss_bytes, 1024u * 1024);
  EXPECT_EQ(memory.peak_rss_bytes, 2048u * 1024);
  EXPECT_EQ(memory.swap_bytes, 16u * 1024);
  EXPECT_EQ(memory.pss_bytes, 512u * 1024);
  EXPECT_EQ(read_memory(root.path(), false).pss_bytes, std::nullopt);
  EXPECT_EQ(read_throttle_events(root.path()), 7u);
}

/// Data rows of samples.csv.
std::ptrdiff_t row_count(const std::filesystem::path& csv) {
  const std::string text = read_file(csv);
  return std::count(text.begin(), text.end(), '\n') - 1;
}

TEST(ProcessSampler, WritesSamplesAsTheyCome) {
  const test::TestFolder root;
  put_proc(root, 100, 100, 100);
  const auto csv = root / "samples.csv";
  ProcessSampler sampler({.interval_ms = 100, .csv = csv, .root = root.path()});
  while (row_count(csv) < 3) std::this_thread::sleep_for(std::chrono::milliseconds(10));  // before stop()
  put_proc(root, 130, 150, 100);
  const SamplerSummary summary = sampler.stop();
  EXPECT_EQ(summary.cpu.samples, row_count(csv));
  EXPECT_LT(summary.cpu.samples, 60) << "rows wait in a buffer, where a killed run would lose them";
  EXPECT_DOUBLE_EQ(*summary.cpu.seconds, 0.3);
  EXPECT_EQ(summary.memory.peak_rss_bytes, 2048u * 1024);
  EXPECT_EQ(summary.memory.swap_bytes_max, 16u * 1024);
  EXPECT_DOUBLE_EQ(summary.memory.rss_bytes->mean, 1024.0 * 1024);
  EXPECT_EQ(summary.cpu.core_percent_mean.size(), 2u);
  EXPECT_NE(summary.energy.reason, "");
  EXPECT_EQ(summary.error, "");
  EXPECT_EQ(read_file(csv).find("time_s,process_cpu_percent,others_cpu_percent,steal_percent,rss_bytes,pss_bytes,"
                                "swap_bytes,cpu0_percent,cpu1_percent\n"),
            0u);
  EXPECT_EQ(sampler.stop().cpu.samples, summary.cpu.samples);
}

TEST(ProcessSampler, AResumedRunGoesOnWithTheFile) {
  const test::TestFolder root;
  put_proc(root, 1, 1, 1);
  const auto csv = root / "samples.csv";
  SamplerOptions options{.interval_ms = 1000, .csv = csv, .root = root.path()};
  ProcessSampler(options).stop();
  const auto rows = row_count(csv);
  options.append = true;
  options.csv_start_s = 500;
  ProcessSampler(options).stop();
  const std::string text = read_file(csv);
  EXPECT_EQ(row_count(csv), 2 * rows);
  EXPECT_EQ(text.find("time_s"), text.rfind("time_s"));
  EXPECT_NE(text.find("\n500."), std::string::npos);
}

TEST(ProcessSampler, SeesThisProcess) {
  std::vector<char> memory(64 << 20, 1);
  ProcessSampler sampler({.interval_ms = 100});
  const double begin_s = now_s();
  volatile double work = 1;
  while (now_s() < begin_s + 0.25) work = work * 1.0000001;
  const SamplerSummary summary = sampler.stop();
  ASSERT_TRUE(summary.cpu.seconds.has_value());
  EXPECT_GT(*summary.cpu.seconds, 0);
  EXPECT_GT(*summary.memory.peak_rss_bytes, memory.size());
  EXPECT_GE(*summary.memory.peak_rss_bytes, summary.memory.rss_bytes->max);
  EXPECT_FALSE(summary.cpu.core_percent_mean.empty());
}

TEST(ProcessSampler, CountsChildrenThatEndedBetweenSamples) {
  constexpr std::uint64_t kPeak_bytes = std::uint64_t{5} << 30;
  constexpr int kNobody = 1 << 30;  // no process has this number
  SamplerOptions options;
  options.interval_ms = 10'000;
  ProcessSampler sampler(options);
  sampler.watch({kNobody});
  sampler.ended(kNobody - 1, 2 * kPeak_bytes);  // not one of ours
  sampler.ended(kNobody, kPeak_bytes);
  sampler.watch({kNobody - 2});  // started again, in its place
  const SamplerSummary summary = sampler.stop();
  EXPECT_EQ(summary.memory.ranks.at(0).peak_rss_bytes, kPeak_bytes);
  EXPECT_GT(summary.memory.peak_rss_bytes.value_or(0), kPeak_bytes);
  EXPECT_LT(summary.memory.peak_rss_bytes.value_or(0), 2 * kPeak_bytes);
}

// The kernel adds a child's time to its parent's when it was waited for: all of it at once.
TEST(ProcessSampler, AChildComputesWhileItRunsAndNotAllAtItsEnd) {
  constexpr int kNobody = 1 << 30;  // no process has this number
  const test::TestFolder root;
  const fs::path of_child = root / "proc" / std::to_string(kNobody) / "stat";
  put_proc(root, 100, 100, 50);
  test::write_text(of_child, "7 (child) R 1 1 1 0 -1 4194560 5 6 7 8 300 150 30 20 20 0 1 0 5 6 7\n");
  add_live_child(kNobody);
  SamplerOptions options;
  options.root = root.path();
  ProcessSampler sampler(options);
  fs::remove(of_child);
  put_proc(root, 100 + 500, 600, 50);
  remove_live_child(kNobody);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));  // the shortest time that says anything
  const SamplerSummary summary = sampler.stop();
  EXPECT_EQ(summary.cpu.seconds, 0.0);
  ASSERT_TRUE(summary.cpu.percent);
  EXPECT_EQ(summary.cpu.percent->max, 0);
}

TEST(ProcessSampler, AChildThatWasWaitedForAsCountersWereReadTakesNothingBack) {
  const test::TestFolder root;
  put_proc(root, 600, 600, 50);
  SamplerOptions options;
  options.root = root.path();
  options.interval_ms = 100;
  ProcessSampler sampler(options);
  put_proc(root, 100, 600, 50);
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  put_proc(root, 600, 600, 50);
  EXPECT_EQ(sampler.stop().cpu.percent->max, 0);
}

TEST(ProcessSampler, RefusesWhatItCantDo) {
  EXPECT_THROW(ProcessSampler({.interval_ms = 50}), UsageError);
  EXPECT_THROW(ProcessSampler({.interval_ms = 20000}), UsageError);
  try {
    ProcessSampler({.csv = "/nonexistent/folder/samples.csv"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent/folder/samples.csv"), std::string::npos);
  }
}

TEST(ProcessSampler, AFullDiskIsToldNotFatal) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  ProcessSampler sampler({.interval_ms = 100, .csv = "/dev/full"});
  EXPECT_NE(sampler.stop().error.find("/dev/full"), std::string::npos);
}

}  // namespace
}  // namespace evener::measure
