// What a record takes of the samples: its cards by their numbers, which devices count as used, and the costs that come
// of them.
#include "measure/record_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/test_folder.h"
#include "measure/sampler_readings.h"
#include "record/metric.h"
#include "record/record.h"
#include "record/record_kind.h"

namespace evener::measure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// An environment variable for the length of a test.
class VisibleCards {
 public:
  explicit VisibleCards(const char* list) { setenv("CUDA_VISIBLE_DEVICES", list, 1); }
  ~VisibleCards() { unsetenv("CUDA_VISIBLE_DEVICES"); }
};

DeviceUse use_of(const std::string& name, double percent, std::int64_t throttled) {
  DeviceUse use;
  use.name = name;
  use.utilisation_percent = record::Spread{percent - 5, percent, percent + 9};
  use.samples = 8;
  use.throttled_samples = throttled;
  use.throttle_reasons = name + " is hot";
  use.temperature_c = record::Spread{40, 60 + percent, 90};
  use.clock_mhz = record::Spread{900, 1200 + percent, 1500};
  return use;
}

record::DeviceEnergy energy_of_device(const std::string& name, double joules, record::Covers covers,
                                      bool added = true) {
  record::DeviceEnergy device;
  device.name = name;
  device.covers = covers;
  device.kind = record::EnergyClass::kMeasured;
  device.added = added;
  device.joules = joules;
  return device;
}

/// Three cards, of which the second computed.
record::Record sampled(const std::string& device = "cuda:1", int index = 1) {
  record::Record record;
  record.gpus.resize(1);
  record.gpus[0].index = index;
  record.placement.replicas.resize(1);
  record.placement.replicas[0].stages.resize(1);
  record.placement.replicas[0].stages[0].device = device;
  SamplerSummary summary;
  summary.devices = {use_of("gpu 0", 10, 1), use_of("gpu 1", 20, 2), use_of("gpu 2", 30, 4)};
  summary.energy.joules = 1000 + 10 + 200 + 30;
  summary.energy.seconds = 4;
  summary.energy.kind = record::EnergyClass::kMeasured;
  summary.energy.devices = {energy_of_device("package-0", 1000, record::Covers::kPackage),
                            energy_of_device("gpu 0", 10, record::Covers::kGpu),
                            energy_of_device("gpu 1", 200, record::Covers::kGpu),
                            energy_of_device("gpu 2", 30, record::Covers::kGpu),
                            energy_of_device("meter", 5000, record::Covers::kMachine, false)};
  take_samples(record, summary);
  return record;
}

TEST(RecordSamples, ACardIsKnownByItsUuidWhateverItsNumber) {
  // What CUDA calls cuda:1 is the third card by the PCI bus; the others belong to someone else.
  record::Record record;
  record.gpus.resize(1);
  record.gpus[0].index = 1;
  record.gpus[0].uuid = "GPU-c";
  record.placement.replicas.resize(1);
  record.placement.replicas[0].stages.resize(1);
  record.placement.replicas[0].stages[0].device = "cuda:1";
  record.placement.replicas[0].stages[0].uuid = "GPU-c";
  SamplerSummary summary;
  summary.energy.joules = 1240;
  summary.energy.seconds = 4;
  summary.energy.devices = {energy_of_device("package-0", 1000, record::Covers::kPackage),
                            energy_of_device("gpu 0", 10, record::Covers::kGpu),
                            energy_of_device("gpu 1", 200, record::Covers::kGpu),
                            energy_of_device("gpu 2", 30, record::Covers::kGpu)};
  summary.devices = {use_of("gpu 0", 10, 1), use_of("gpu 1", 20, 2), use_of("gpu 2", 30, 4)};
  const char* const uuids[] = {"GPU-a", "GPU-b", "GPU-c"};
  for (std::size_t n = 0; n < 3; ++n) summary.devices[n].uuid = summary.energy.devices[n + 1].uuid = uuids[n];
  record::Record by_uuid = record;
  take_samples(by_uuid, summary);
  EXPECT_EQ(by_uuid.gpus[0].joules, 30);
  EXPECT_EQ(by_uuid.gpus[0].utilisation_percent_mean, 30);
  EXPECT_EQ(by_uuid.energy.used_joules, 1030);
  EXPECT_FALSE(by_uuid.energy.devices[2].used);
  EXPECT_TRUE(by_uuid.energy.devices[3].used);
  // A part of a card (MIG) has a UUID that no card has.
  record.gpus[0].uuid = record.placement.replicas[0].stages[0].uuid = "GPU-part";
  take_samples(record, summary);
  EXPECT_EQ(record.gpus[0].joules, 200);
  EXPECT_EQ(record.energy.used_joules, 1200);
}

TEST(RecordSamples, JoulesOfAGpuAreNoPhasesOfTheProgram) {
  for (const char* device : {"cuda:0", "opencl:0", "cpu"}) {
    record::Record record;
    record.placement.replicas.resize(1);
    record.placement.replicas[0].stages.resize(2);
    record.placement.replicas[0].stages[0].device = "cpu";
    record.placement.replicas[0].stages[1].device = device;
    SamplerSummary summary;
    summary.energy.joules = 100;
    summary.energy.phases = {{.phase = "d2h", .joules = 100}};
    take_samples(record, summary);
    EXPECT_EQ(record.energy.phases.size(), std::string(device) == "cpu" ? 1U : 0U) << device;
    EXPECT_EQ(record.energy.phases_reason.empty(), std::string(device) == "cpu") << device;
  }
}

TEST(RecordSamples, ACardHasTheFiguresOfItsNumber) {
  const record::Record record = sampled();
  const record::GpuUse& gpu = record.gpus[0];
  EXPECT_EQ(gpu.utilisation_percent_mean, 20);
  EXPECT_EQ(gpu.throttled_share, 0.25);
  EXPECT_EQ(gpu.throttle_reasons, "gpu 1 is hot");
  EXPECT_EQ(gpu.temperature_c->mean, 80);
  EXPECT_EQ(gpu.clock_mhz->mean, 1220);
  EXPECT_EQ(gpu.joules, 200);
  EXPECT_FALSE(record.missing.contains("gpus.joules"));
  EXPECT_FALSE(record.missing.contains("gpus"));
  const record::Record unknown = sampled("cuda:5", 5);
  EXPECT_EQ(unknown.gpus[0].joules, std::nullopt);
  EXPECT_THAT(unknown.missing.at("gpus.joules"), HasSubstr("no sensor of this GPU"));
  EXPECT_THAT(unknown.missing.at("gpus.utilisation_percent_mean"), HasSubstr("no sensor of this GPU"));
}

TEST(RecordSamples, CardsThatCudaIsShownAreTheMachinesByTheirNumbers) {
  {
    const VisibleCards some("2,0");
    EXPECT_EQ(sampled("cuda:0", 0).gpus[0].joules, 30);
    EXPECT_EQ(sampled("cuda:1", 1).gpus[0].joules, 10);
    EXPECT_EQ(sampled("cuda:0", 0).energy.used_joules, 1030);
    EXPECT_EQ(sampled("cuda:1", 1).energy.used_joules, 1010);
  }
  {
    const VisibleCards by_name("GPU-5f,1");  // a name isn't looked up
    EXPECT_EQ(sampled("cuda:0", 0).gpus[0].joules, 10);
    EXPECT_EQ(sampled("cuda:1", 1).gpus[0].joules, 200);
  }
  {
    const VisibleCards three("0,2,1");
    EXPECT_EQ(sampled("cuda:1", 1).gpus[0].joules, 30);
  }
  const VisibleCards few("2");
  EXPECT_EQ(sampled("cuda:1", 1).gpus[0].joules, 200) << "beyond the list";
}

TEST(RecordSamples, CardsThatWereLeftIdleArentUsed) {
  const record::Record record = sampled();
  EXPECT_EQ(record.energy.used_joules, 1200) << "the processor and the card; what covers all adds nothing";
  EXPECT_EQ(record.energy.used_edp_js, 4800);
  EXPECT_EQ(record.energy.edp_js, 4960);
  std::vector<bool> used;
  for (const record::DeviceEnergy& device : record.energy.devices) used.push_back(device.used);
  EXPECT_THAT(used, ElementsAre(true, false, true, false, true));
  EXPECT_EQ(sampled("cpu", 1).energy.used_joules, 1000);
}

TEST(RecordSamples, StatedCardsAreUsedUnlessTheyAreStatedToIdle) {
  record::Record record;
  record.placement.replicas.resize(1);
  record.placement.replicas[0].stages.resize(1);
  record.placement.replicas[0].stages[0].device = "cuda:1";
  SamplerSummary summary;
  summary.energy.joules = 37;
  summary.energy.devices = {energy_of_device("gpu 0 (stated)", 30, record::Covers::kGpu),
                            energy_of_device("idle gpu 0 (stated)", 7, record::Covers::kGpu)};
  for (record::DeviceEnergy& device : summary.energy.devices) device.kind = record::EnergyClass::kEstimated;
  take_samples(record, summary);
  EXPECT_EQ(record.energy.used_joules, 30);
  summary.energy.joules.reset();
  take_samples(record, summary);
  EXPECT_EQ(record.energy.used_joules, std::nullopt) << "no sum of a part";
}

TEST(RecordSamples, ReasonsStandWhereTheValueIsAbsent) {
  record::Record record;
  SamplerSummary summary;
  summary.process_percent = record::Spread{1, 2, 3};
  summary.process_cpu_s = 12.5;
  summary.peak_rss_bytes = 100;
  summary.pss_bytes = record::Spread{4, 5, 6};
  summary.throttle_events = 0;
  summary.samples = 17;
  summary.steal_percent_mean = 3.5;
  take_samples(record, summary);
  for (const char* path : {"memory.peak_rss_bytes", "memory.pss_bytes", "cpu.percent", "cpu.throttle_events"}) {
    EXPECT_FALSE(record.missing.contains(path)) << path;
  }
  EXPECT_EQ(record.missing.at("gpus"), "no GPU was used");
  EXPECT_EQ(record.cpu.seconds, 12.5);
  EXPECT_EQ(record.cpu.samples, 17);
  EXPECT_EQ(record.cpu.steal_percent_mean, 3.5);
  EXPECT_EQ(record.memory.peak_rss_bytes, 100U);
  EXPECT_EQ(record.memory.pss_bytes->max, 6);
}

TEST(RecordSamples, HostsOfOneNameAreToldToBeOneMachine) {
  record::Record record = sampled();
  record.placement.replicas.resize(3);
  record.placement.replicas[0].host = record.placement.replicas[1].host = "a";
  record.placement.replicas[2].host = "b";
  const auto take = [&](std::size_t energies) {
    record::Record one = record;
    one.host_energies.resize(energies);
    for (record::Energy& energy : one.host_energies) energy.joules = 50;
    SamplerSummary summary;
    summary.energy.joules = 100;
    take_samples(one, summary);
    return one;
  };
  EXPECT_TRUE(take(2).notes.empty());
  EXPECT_EQ(take(2).energy.joules, 150);
  EXPECT_THAT(take(3).notes, ElementsAre(HasSubstr("hosts of the same name")));
  EXPECT_TRUE(take(3).host_energies.empty());
}

TEST(EpochsCsv, HasJoulesWhereAnEpochHasSome) {
  record::Record record;
  record.training.epochs.resize(2);
  record.training.epochs[0].epoch = 1;
  record.training.epochs[0].val_loss = 0.5;
  record.training.epochs[0].figures = {{"map", 0.25}};
  record.training.epochs[1].epoch = 2;
  record.training.epochs[1].seconds = 7;
  record.training.epochs[1].validate_seconds = 3;
  EXPECT_THAT(epochs_csv(record), testing::EndsWith(",validate_seconds,map\n1,,,,,,0.5,,,0.25\n2,7,,,,,,,3,\n"));
  record.training.epochs[1].joules = 45.5;
  EXPECT_THAT(epochs_csv(record),
              testing::EndsWith(",validate_seconds,map,joules\n1,,,,,,0.5,,,0.25,\n2,7,,,,,,,3,,45.5\n"));
}

std::optional<double> metric_value(const record::Record& record, const std::string& name) {
  const auto metrics = record::metrics_of(record);
  return record::find_metric(metrics, name)->value;
}

std::string metric_reason(const record::Record& record, const std::string& name) {
  const auto metrics = record::metrics_of(record);
  return record::find_metric(metrics, name)->reason;
}

TEST(Costs, EachIsItsOwnFigure) {
  record::Record record;
  record.times.total = 11;
  record.times.train = 7;
  record.memory.peak_rss_bytes = 2000;
  record.cpu.seconds = 13;
  record.energy.joules = 400;
  record.energy.seconds = 5;
  record.energy.used_joules = 300;
  record.energy.net_joules = 250;
  record.energy.process_joules = 90;
  record.energy.kind = record::EnergyClass::kDerived;
  record::set_products(record.energy);
  record.sessions.resize(2);
  record.sessions[0].images = 300;
  record.sessions[1].images = 500;
  record.data.images = 77;
  const std::pair<const char*, double> rows[] = {{"total_s", 11},
                                                 {"train_s", 7},
                                                 {"peak_rss_bytes", 2000},
                                                 {"cpu_seconds", 13},
                                                 {"energy_joules", 400},
                                                 {"edp_joule_seconds", 2000},
                                                 {"ed2p_joule_square_seconds", 10000},
                                                 {"used_devices_joules", 300},
                                                 {"used_devices_edp_joule_seconds", 1500},
                                                 {"net_energy_joules", 250},
                                                 {"process_joules", 90},
                                                 {"images_per_joule", 2}};
  for (const auto& [name, value] : rows) EXPECT_EQ(metric_value(record, name), value) << name;
  const auto metrics = record::metrics_of(record);
  EXPECT_EQ(record::find_metric(metrics, "energy_joules")->label, "energy (derived)");
  EXPECT_EQ(record::find_metric(metrics, "images_per_joule")->better, record::Better::kHigher);
  EXPECT_EQ(record::find_metric(metrics, "net_energy_joules")->title, "net energy");
  record.kind = "infer";
  record.data.images = 100;
  EXPECT_EQ(metric_value(record, "images_per_joule"), 0.25);
  record.scenario.name = "offline";
  record.scenario.samples = 600;
  EXPECT_EQ(metric_value(record, "images_per_joule"), 1.5);
}

TEST(Costs, WithoutEnergySayWhy) {
  record::Record record;
  record.energy.reason = "no sensor";
  record.energy.net_reason = "not asked for";
  record.missing["memory.peak_rss_bytes"] = "no /proc";
  for (const char* name : {"energy_joules", "edp_joule_seconds", "used_devices_joules", "net_energy_joules",
                           "process_joules", "images_per_joule"}) {
    EXPECT_EQ(metric_value(record, name), std::nullopt) << name;
    EXPECT_EQ(metric_reason(record, name), "no sensor") << name;
  }
  EXPECT_EQ(metric_reason(record, "peak_rss_bytes"), "no /proc");
  record.energy.joules = 5;
  EXPECT_EQ(metric_reason(record, "net_energy_joules"), "not asked for");
  EXPECT_EQ(metric_reason(record, "images_per_joule"), "no images were counted");
  record.sessions.resize(1);
  record.sessions[0].images = 10;
  EXPECT_EQ(metric_value(record, "images_per_joule"), 2);
  record.energy.joules = 0;
  EXPECT_EQ(metric_value(record, "images_per_joule"), std::nullopt);
}

TEST(SpeedRatios, TurnRoundWhereLowerIsBetter) {
  record::Metric slow, fast;
  slow.value = 4;
  fast.value = 10;
  EXPECT_EQ(speed_ratio(slow, fast), 2.5);
  slow.better = fast.better = record::Better::kLower;
  EXPECT_EQ(speed_ratio(slow, fast), 0.4);
  fast.value = 0;
  EXPECT_EQ(speed_ratio(slow, fast), std::nullopt);
  fast.better = record::Better::kHigher;
  EXPECT_EQ(speed_ratio(slow, fast), 0);
  slow.value = 0;
  fast.value = 1;
  EXPECT_EQ(speed_ratio(slow, fast), std::nullopt);
  fast.value.reset();
  EXPECT_EQ(speed_ratio(fast, slow), std::nullopt);
}

TEST(TrainingFigures, TheOverallSpeedIsAllImagesOverAllSeconds) {
  record::Record record;
  record.training.epochs.resize(3);
  record.training.epochs[0].images_per_s = 10;
  record.training.epochs[0].seconds = 30;
  record.training.epochs[1].images_per_s = 100;
  record.training.epochs[1].seconds = 3;
  record.training.epochs[1].val_accuracy = 0.7;
  record.training.epochs[2].images_per_s = 5;  // whose seconds aren't known
  record.training.epochs[2].val_accuracy = 0.4;
  EXPECT_DOUBLE_EQ(*metric_value(record, record::kOverallSpeed), 600.0 / 33);
  EXPECT_EQ(metric_value(record, "best_val_accuracy"), 0.7);
  record.training.accuracy.val = 0.65;
  EXPECT_EQ(metric_value(record, "best_val_accuracy"), 0.65) << "what the record calls its best";
  record.images_per_s.median = 20;  // 10 % above the overall speed of 18.18, to the last digit
  record.images_per_s.samples = {20, 20};
  EXPECT_EQ(speed_note(record), "");
  record.images_per_s.median = 21;
  EXPECT_THAT(speed_note(record), HasSubstr("13 % less than"));
  record.images_per_s.median = 10;
  EXPECT_THAT(speed_note(record), HasSubstr("82 % more than"));
}

TEST(SampledMemory, OfChildrenAddsUpButTheirPeaks) {
  const test::TestFolder root;
  const auto put = [&](const std::string& who, int peak, int rss, int swap, int pss) {
    test::write_text(root / ("proc/" + who + "/status"), "VmHWM: " + std::to_string(peak) +
                                                             " kB\nVmRSS: " + std::to_string(rss) +
                                                             " kB\nVmSwap: " + std::to_string(swap) + " kB\n");
    test::write_text(root / ("proc/" + who + "/smaps_rollup"), "Pss: " + std::to_string(pss) + " kB\n");
  };
  put("self", 900, 400, 3, 300);
  put("7", 800, 50, 10, 40);
  put("8", 700, 6, 200, 5);
  const MemoryReading memory = read_memory(root.path(), true, {7, 8, 9});
  EXPECT_EQ(memory.rss_bytes, 456U * 1024);
  EXPECT_EQ(memory.swap_bytes, 213U * 1024);
  EXPECT_EQ(memory.pss_bytes, 345U * 1024);
  EXPECT_EQ(memory.peak_rss_bytes, 900U * 1024);
  EXPECT_EQ(read_peak_rss(root.path(), 8), 700U * 1024);
  EXPECT_EQ(read_peak_rss(root.path(), 9), std::nullopt);
}

TEST(TakeSamples, AbsentFiguresGetReasons) {
  record::Record record;
  SamplerSummary summary;
  summary.energy.reason = "no counters";
  summary.error = "disk full";
  take_samples(record, summary);
  EXPECT_EQ(record.energy.reason, "no counters");
  EXPECT_TRUE(record.missing.contains("memory.peak_rss_bytes"));
  EXPECT_TRUE(record.missing.contains("cpu.percent"));
  ASSERT_EQ(record.notes.size(), 1u);
  EXPECT_THAT(record.notes[0], HasSubstr("disk full"));
}

}  // namespace
}  // namespace evener::measure
