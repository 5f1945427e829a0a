// Energy as the sampler of a run sees it, and what a look costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <cstdio>
#include <thread>

#include "base/files.h"
#include "base/test_folder.h"
#include "measure/process_sampler.h"
#include "measure/record_samples.h"
#include "measure/sensors/kernel_sensors.h"
#include "measure/sensors/nvml.h"
#include "measure/sensors_helpers.h"
#include "record/record.h"
#include "record/record_json.h"
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

TEST(RecordSamples, CpusThatWereGivenAwayAreInTheRecord) {
  record::Record record;
  EXPECT_FALSE(to_json(record)["cpu"].contains("exchanged")) << "nobody counted";
  SamplerSummary summary;
  summary.cpu.exchanged = 7;
  summary.cpu.lent = 11;
  take_samples(record, summary);
  const auto json = to_json(record);
  EXPECT_EQ(json["cpu"]["exchanged"], 7);
  EXPECT_EQ(json["cpu"]["lent"], 11);
}

TEST(EpochEnergy, IsWhatWasUsedBetweenItsEnds) {
  const test::TestFolder folder;
  // 100 W for 10 s, then 50 W: rows of an earlier session first, which went to 100 s.
  std::string rows = "time_s,process_cpu_percent,energy_joules,package-0_watts\n99.5,1,9000,100\n100.000,1,9100,100\n";
  for (int n = 0; n <= 40; ++n) {
    const double t = 0.5 * n, joules = t <= 10 ? 100 * t : 1000 + 50 * (t - 10);
    rows += std::to_string(101.5 + t) + ",1," + std::to_string(joules) + ",\n";
  }
  test::write_text(folder / "samples.csv", rows);
  record::Record record;
  record.training.epochs.resize(5);
  const auto put = [&](std::size_t n, std::optional<double> from_s, std::optional<double> to_s) {
    record.training.epochs[n].from_s = from_s;
    record.training.epochs[n].to_s = to_s;
  };
  put(0, 2, 5);  // of the earlier session, which did not know its energy
  record.training.epochs[1].joules = 77;
  put(2, 1, 7.25);
  put(3, 7.25, 14);
  put(4, 14, 30);  // the samples end before
  record.sessions.resize(2);
  record.sessions.back().epochs = 3;
  fill_epoch_energy(record, folder / "samples.csv", 101.5);
  EXPECT_EQ(record.training.epochs[0].joules, std::nullopt);
  EXPECT_EQ(record.training.epochs[1].joules, 77);
  EXPECT_NEAR(record.training.epochs[2].joules.value_or(0), 625, 0.6);
  EXPECT_NEAR(record.training.epochs[3].joules.value_or(0), 275 + 200, 0.5);
  EXPECT_EQ(record.training.epochs[4].joules, std::nullopt);
}

/// The joules of an epoch from `from_s` to `to_s` of a session that began at 100 s in these samples.
std::optional<double> joules_in(const std::string& rows, double from_s, double to_s) {
  const test::TestFolder folder;
  test::write_text(folder / "samples.csv", "time_s,energy_joules\n" + rows);
  record::Record record;
  record.training.epochs.resize(1);
  record.training.epochs[0].from_s = from_s;
  record.training.epochs[0].to_s = to_s;
  fill_epoch_energy(record, folder / "samples.csv", 100);
  return record.training.epochs[0].joules;
}

TEST(EpochEnergy, TheRowsOfAnEarlierSessionAreNotItsOwn) {
  // The earlier one, at another height, ended more than a second before the first row of this one.
  EXPECT_NEAR(joules_in("90,5000\n100.05,10\n102.05,210\n", 0.02, 1.05).value_or(-1), 100, 1e-6);
  EXPECT_EQ(joules_in("90,5000\n100.5,10\n102.5,210\n", 0.02, 1.5), std::nullopt) << "half a second is no moment";
  EXPECT_NEAR(joules_in("100,0\n101,60\n101,60\n102,160\n", 0.5, 1.5).value_or(-1), 80, 1e-6) << "a row twice";
}

TEST(EpochEnergy, WhatWasHeldAndTakenBackIsNoEnergy) {
  EXPECT_NEAR(joules_in("100,0\n101,60\n102,50\n103,90\n", 0, 3).value_or(-1), 90, 1e-6);
  EXPECT_EQ(joules_in("100,0\n101,60\n102,50\n103,90\n", 1, 2), std::nullopt);
}

TEST(EpochEnergy, WithoutSamplesOfEnergyThereIsNone) {
  const test::TestFolder folder;
  test::write_text(folder / "samples.csv", "time_s,process_cpu_percent\n0,1\n5,1\n");
  record::Record record;
  record.training.epochs.resize(1);
  record.training.epochs[0].from_s = 0;
  record.training.epochs[0].to_s = 5;
  fill_epoch_energy(record, folder / "samples.csv", 0);
  EXPECT_EQ(record.training.epochs[0].joules, std::nullopt);
}

/// The energy of the work of a session that began at 100 s in samples of 10 W until 110 s, then of 30 W.
record::Energy work_energy(record::Record record, WorkTime work, double least_s = 1) {
  const test::TestFolder folder;
  test::write_text(folder / "samples.csv", "time_s,energy_joules\n100,5\n110,105\n120,405\n");
  if (record.energy.reason.empty()) record.energy.joules = 400;
  fill_work_energy(record, folder / "samples.csv", 100, work, least_s);
  return record.energy;
}

TEST(WorkEnergy, IsOfTheTimeThatTheTaskNames) {
  record::Record record;
  record.kind = "infer";
  const record::Energy known = work_energy(record, {.from_s = 4, .to_s = 12});
  EXPECT_NEAR(known.work_joules.value_or(0), 60 + 60, 1e-9);
  EXPECT_EQ(known.work_seconds, 8);
  EXPECT_EQ(known.work_reason, "");
  EXPECT_TRUE(work_energy(record, {.from_s = 4, .to_s = 12}, 8).work_joules);
  const record::Energy brief = work_energy(record, {.from_s = 4, .to_s = 12}, 9);
  EXPECT_EQ(brief.work_joules, std::nullopt);
  EXPECT_EQ(brief.work_seconds, std::nullopt);
  EXPECT_EQ(brief.work_reason, "the work on images took 8.00 s, too short for the meters (at least 9 s)");
  EXPECT_EQ(work_energy(record, {.from_s = 4, .to_s = 25}).work_reason,
            "the samples don't tell what was used until the work began and ended");
  for (const WorkTime& half : {WorkTime{}, WorkTime{.from_s = 4}, WorkTime{.to_s = 4}}) {
    EXPECT_EQ(work_energy(record, half).work_reason, "no work on images came to an end");
  }
  record.energy.work_reason = "two hosts";
  const record::Energy told = work_energy(record, {.from_s = 4, .to_s = 12});
  EXPECT_EQ(told.work_joules, std::nullopt);
  EXPECT_EQ(told.work_reason, "two hosts");
  record.energy.work_reason.clear();
  record.energy.reason = "no counters";
  EXPECT_EQ(work_energy(record, {.from_s = 4, .to_s = 12}).work_joules, std::nullopt);
}

TEST(WorkEnergy, OfATrainingIsThatOfItsEpochsAndOfOneThatWasBegun) {
  record::Record record;
  record.training.epochs.resize(3);
  for (std::size_t n = 0; n < 3; ++n) {  // the first is an earlier session's
    record.training.epochs[n].from_s = n == 0 ? 0 : 2.0 + 4.0 * static_cast<double>(n);
    record.training.epochs[n].to_s = n == 0 ? 1 : 6.0 + 4.0 * static_cast<double>(n);
  }
  record.sessions.resize(2);
  record.sessions.back().epochs = 2;
  record.sessions.back().seconds = 16;
  for (const auto& [status, to_s] : {std::pair{record::Status::kDone, 14.0},
                                     {record::Status::kDiverged, 14.0},
                                     {record::Status::kInterrupted, 16.0}}) {
    record.status = status;
    const record::Energy energy = work_energy(record, {.from_s = 0, .to_s = 20});
    EXPECT_EQ(energy.work_seconds, to_s - 6) << status_name(status);
    EXPECT_NEAR(energy.work_joules.value_or(0), 40 + 30 * (to_s - 10), 1e-9);
  }
}

TEST(RecordSamples, EachAbsenceHasItsReasonAndLosesItWhenItIsKnown) {
  record::Record record;
  record.sessions.resize(2);
  leave_samples_out(record);
  EXPECT_EQ(record.missing.at("cpu.seconds"), "the run has not ended");
  SamplerSummary summary;
  summary.error = "no room";
  take_samples(record, summary);
  EXPECT_FALSE(record.missing.contains("cpu.seconds"));
  EXPECT_THAT(record.missing.at("memory.peak_rss_bytes"), HasSubstr("/proc/self/status"));
  EXPECT_THAT(record.missing.at("memory.pss_bytes"), HasSubstr("smaps_rollup"));
  EXPECT_THAT(record.missing.at("cpu.percent"), HasSubstr("two samples"));
  EXPECT_THAT(record.missing.at("cpu.throttle_events"), HasSubstr("thermal throttling"));
  EXPECT_EQ(record.missing.at("gpus"), "no GPU was used");
  EXPECT_THAT(record.notes, ElementsAre("samples.csv ends early: no room"));
  summary = {};
  summary.cpu.seconds = 7;
  summary.cpu.percent = record::Spread{1, 2, 3};
  summary.cpu.throttle_events = 0;
  summary.memory.peak_rss_bytes = 5;
  summary.memory.pss_bytes = record::Spread{1, 2, 3};
  record = {};
  record.sessions.resize(2);
  record.gpus.resize(1);
  take_samples(record, summary);
  EXPECT_EQ(record.sessions.back().cpu_seconds, 7);
  EXPECT_EQ(record.sessions.front().cpu_seconds, std::nullopt);
  std::vector<std::string> paths;
  for (const auto& [path, reason] : record.missing) paths.push_back(path);
  EXPECT_THAT(paths, ElementsAre("gpus.joules", "gpus.utilisation_percent_mean"));
}

// Two cards of which the run used the second, known by its UUID although its number differs, or by its number.
TEST(RecordSamples, ACardsFiguresAreThoseOfItsSensor) {
  SamplerSummary summary;
  summary.energy.joules = 300;
  summary.energy.seconds = 10;
  for (int n = 0; n < 2; ++n) {
    DeviceUse& use = summary.devices.emplace_back();
    use.name = "gpu " + std::to_string(n);
    use.uuid = "GPU-" + std::to_string(n);
    use.samples = 8;
    use.throttled_samples = 2 + n;
    use.throttle_reasons = n == 0 ? "heat" : "power cap";
    use.utilisation_percent = record::Spread{0, 40.0 + n, 100};
    use.temperature_c = record::Spread{30, 50.0 + n, 70};
    use.clock_mhz = record::Spread{900, 1200.0 + n, 1500};
    record::DeviceEnergy& device = summary.energy.devices.emplace_back();
    device.name = use.name;
    device.uuid = use.uuid;
    device.covers = record::Covers::kGpu;
    device.kind = record::EnergyClass::kMeasured;
    device.added = true;
    device.joules = 100.0 + 100 * n;
  }
  for (const bool by_uuid : {true, false}) {
    record::Record record;
    record.gpus.resize(1);
    record.gpus[0].index = by_uuid ? 0 : 1;
    record.gpus[0].uuid = by_uuid ? "GPU-1" : "MIG-7";
    record::StageRecord stage;
    stage.device = by_uuid ? "cuda:0" : "cuda:1";
    stage.uuid = record.gpus[0].uuid;
    record.placement.replicas.resize(1);
    record.placement.replicas[0].stages = {stage};
    take_samples(record, summary);
    const record::GpuUse& gpu = record.gpus[0];
    EXPECT_EQ(gpu.joules, 200) << by_uuid;
    EXPECT_EQ(gpu.utilisation_percent_mean, 41);
    EXPECT_EQ(gpu.throttled_share, 3.0 / 8);
    EXPECT_EQ(gpu.throttle_reasons, "power cap");
    EXPECT_EQ(gpu.temperature_c->mean, 51);
    EXPECT_EQ(gpu.clock_mhz->mean, 1201);
    EXPECT_FALSE(record.missing.contains("gpus.joules"));
    EXPECT_EQ(record.energy.used_joules, 200) << "the other card was not computed on";
    EXPECT_EQ(record.energy.used_edp_js, 2000);
    EXPECT_THAT(record.energy.phases_reason, HasSubstr("a GPU computes behind the program"));
  }
}

}  // namespace

}  // namespace evener::measure
