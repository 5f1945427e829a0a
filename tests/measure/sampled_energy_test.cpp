// Energy as the sampler of a run sees it, and what a look costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <cstdio>
#include <thread>

#include "base/files.h"
#include "measure/process_sampler.h"
#include "measure/sensors/nvml.h"
#include "measure/sensors/kernel_sensors.h"
#include "measure/sensors_helpers.h"
#include "record/record.h"
#include "record/sessions.h"
#include "record/validity.h"

namespace evener::measure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string first_line(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  return text.substr(0, text.find('\n'));
}

std::string last_line(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  return text.substr(text.rfind('\n', text.size() - 2) + 1);
}

TEST(SampledEnergy, StandsInTheSamplesAndInTheSummary) {
  const test::PowercapTree tree;
  tree.zone("intel-rapl:0", "package-0", 1'000'000);
  tree.zone("intel-rapl:0:0", "dram", 0);
  const auto csv = tree / "samples.csv";
  ProcessSampler sampler({.interval_ms = 100, .csv = csv, .root = tree.path()});
  std::this_thread::sleep_for(std::chrono::milliseconds(1050));
  tree.count("intel-rapl:0", 61'000'000);
  tree.count("intel-rapl:0:0", 5'000'000);
  const SamplerSummary summary = sampler.stop();
  EXPECT_DOUBLE_EQ(summary.energy.joules.value_or(0), 65) << summary.energy.reason;
  EXPECT_THAT(first_line(csv), HasSubstr(",energy_joules,package-0_watts,package-0_dram_watts"));
  EXPECT_THAT(last_line(csv), HasSubstr(",65.000,"));
}

TEST(SampledEnergy, ARunThatGoesOnWritesTheColumnsThatTheFileHas) {
  const test::PowercapTree tree;
  tree.zone("intel-rapl:0", "package-0", 1'000'000);
  const EnergyMeter meter(test::only(std::make_unique<Powercap>(tree.path())));
  EnergyColumns columns(meter, true);
  columns.go_on_with("time_s,rss_bytes,cpu0_percent,phase_read_percent,energy_joules,gpu_0_watts,package-0_watts");
  EXPECT_EQ(columns.titles(), ",phase_read_percent,energy_joules,gpu_0_watts,package-0_watts");
  const std::string cells = columns.cells(meter, nullptr, 0);
  EXPECT_EQ(std::count(cells.begin(), cells.end(), ','), 4);
  columns.go_on_with("time_s,rss_bytes,cpu0_percent");
  EXPECT_EQ(columns.titles() + columns.cells(meter, nullptr, 0), "") << "of a version without energy";
}

TEST(SampledEnergy, ACounterThatWasLostMakesTheRunInvalid) {
  record::Record record;
  record.energy.lost = {"package-0 (powercap): it could not be read any more"};
  const record::Validity validity = judge(record, {});
  ASSERT_FALSE(validity.valid.value_or(true));
  EXPECT_TRUE(std::ranges::any_of(validity.reasons, [](const auto& reason) { return reason.rule == "energy"; }));
}

TEST(SampledEnergy, SessionsAddUpDeviceByDevice) {
  const auto session = [](double joules, record::EnergyClass kind) {
    record::Record record;
    record.sessions.emplace_back();
    record.sessions.back().started = "2026-11-24T10:00:00Z";
    record.sessions.back().seconds = 10;
    record::Energy& energy = record.energy;
    energy.joules = joules;
    energy.seconds = 10;
    energy.kind = kind;
    energy.by_class[record::energy_class_name(kind)] = joules;
    record::DeviceEnergy device{.name = "package-0", .sensor = "made up"};
    device.kind = kind;
    device.joules = joules;
    device.net_joules = joules - 5;
    energy.devices = {device};
    energy.net_joules = joules - 5;
    return record;
  };
  record::Record whole = session(100, record::EnergyClass::kMeasured);
  add_earlier_samples(whole, session(40, record::EnergyClass::kEstimated));
  EXPECT_EQ(whole.energy.joules, 140);
  EXPECT_EQ(whole.energy.kind, record::EnergyClass::kMixed);
  EXPECT_EQ(whole.energy.by_class.at("estimated"), 40);
  EXPECT_EQ(whole.energy.devices[0].joules, 140);
  EXPECT_EQ(whole.energy.net_joules, 130);
  EXPECT_EQ(whole.energy.edp_js, 140 * 20);
}

TEST(SampledEnergy, SessionsAddTheirCounts) {
  const auto session = [](std::int64_t samples, std::int64_t throttled, std::uint64_t swap_bytes) {
    record::Record record;
    record.sessions.emplace_back();
    record.cpu.samples = samples;
    record.cpu.throttle_events = throttled;
    record.memory.swap_bytes_max = swap_bytes;
    return record;
  };
  for (const std::uint64_t before_bytes : {3, 900}) {
    record::Record whole = session(40, 5, 70);
    add_earlier_samples(whole, session(13, 2, before_bytes));
    EXPECT_EQ(whole.cpu.samples, 53);
    EXPECT_EQ(whole.cpu.throttle_events, 7);
    EXPECT_EQ(whole.memory.swap_bytes_max, std::max<std::uint64_t>(70, before_bytes));
  }
}

TEST(SampledEnergy, SessionsKeepDevicesOfHostsApart) {
  const auto session = [](double on_a, double on_b, double peak) {
    record::Record record;
    record.sessions.emplace_back();
    record.energy.joules = on_a + on_b;
    record.energy.seconds = 10;
    record.energy.net_joules = 1;
    record.energy.net_interval = record::Interval{0, 2};
    for (const auto& [host, joules] : {std::pair{"a", on_a}, {"b", on_b}}) {
      record::DeviceEnergy& device = record.energy.devices.emplace_back();
      device.name = "package-0";
      device.host = host;
      device.joules = joules;
      device.peak_watts = peak;
    }
    return record;
  };
  for (const double peak : {90.0, 40.0}) {
    record::Record whole = session(100, 30, peak);
    add_earlier_samples(whole, session(7, 500, 60));
    EXPECT_EQ(whole.energy.devices[0].joules, 107);
    EXPECT_EQ(whole.energy.devices[1].joules, 530);
    EXPECT_EQ(whole.energy.devices[1].peak_watts, std::max(peak, 60.0));
    EXPECT_EQ(whole.energy.net_joules, 2);
    EXPECT_EQ(whole.energy.net_interval, std::nullopt) << "each session has its own idle power";
  }
}

TEST(SampledEnergy, ALookAtManySensorsIsCheap) {
  const test::PowercapTree tree;
  for (const int package : {0, 1}) {
    const std::string zone = "intel-rapl:" + std::to_string(package);
    tree.zone(zone, "package-" + std::to_string(package), 1);
    tree.zone(zone + ":0", "dram", 1);
  }
  EnergyMeter meter(test::only(std::make_unique<Powercap>(tree.path())));
  meter.poll();
  const auto cpu_s = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  constexpr int kLooks = 200;
  const double begin_s = cpu_s();
  for (int n = 0; n < kLooks; ++n) meter.poll();
  // Told, not judged: a test doesn't know what else its machine does. 0.5 % of 500 ms are 2500 us.
  std::printf("a look at four counters costs %.0f us of CPU time\n", 1e6 * (cpu_s() - begin_s) / kLooks);
  EXPECT_TRUE(meter.joules_so_far().has_value());
}

}  // namespace
}  // namespace evener::measure
