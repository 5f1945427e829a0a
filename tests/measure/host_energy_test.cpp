#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/record_samples.h"
#include "record/energy.h"

namespace evener::measure {
namespace {

using testing::HasSubstr;

record::Energy of_a_host(double package_j, double gpu_j) {
  record::Energy energy{.joules = package_j + gpu_j, .seconds = 10};
  energy.kind = record::EnergyClass::kMeasured;
  energy.domains = {{"package-0", package_j}, {"gpu 0", gpu_j}};
  energy.by_class = {{"measured", package_j + gpu_j}};
  for (const auto& [name, joules] : energy.domains) {
    record::DeviceEnergy device{.name = name, .sensor = "made up"};
    device.covers = name == "gpu 0" ? record::Covers::kGpu : record::Covers::kPackage;
    device.kind = record::EnergyClass::kMeasured;
    device.added = true;
    device.joules = joules;
    energy.devices.push_back(device);
  }
  return energy;
}

record::Record of_two_hosts() {
  record::Record record;
  record::ReplicaRecord replica;
  replica.stages.resize(1);
  replica.stages[0].device = "cuda:0";
  for (const char* host : {"a", "a", "b", "b"}) {  // two replicas share each host's devices
    replica.host = host;
    record.placement.replicas.push_back(replica);
  }
  return record;
}

TEST(HostEnergy, EachDeviceOfEachHostCountsOnce) {
  record::Record record = of_two_hosts();
  record.host_energies = {record::Energy{}, record::energy_of_message(record::energy_message(of_a_host(300, 700)))};
  SamplerSummary summary;
  summary.energy = of_a_host(100, 400);
  take_samples(record, summary);
  const record::Energy& energy = record.energy;
  EXPECT_EQ(energy.joules, 1500);
  EXPECT_EQ(energy.edp_js, 15'000);
  EXPECT_EQ(energy.used_joules, 1500);
  ASSERT_EQ(energy.devices.size(), 4u);
  EXPECT_EQ(energy.devices[0].host, "a");
  EXPECT_EQ(energy.devices[3].host, "b");
  EXPECT_EQ(energy.devices[3].joules, 700);
  EXPECT_EQ(energy.by_class.at("measured"), 1500);
  EXPECT_EQ(energy.domains[2].name, "b package-0");
  EXPECT_TRUE(record.host_energies.empty());
}

TEST(HostEnergy, AHostThatDidNotTellLeavesTheSumUnknown) {
  record::Record record = of_two_hosts();
  record.host_energies = {record::Energy{}, record::Energy{.reason = "no energy counters"}};
  SamplerSummary summary;
  summary.energy = of_a_host(100, 400);
  take_samples(record, summary);
  EXPECT_EQ(record.energy.joules, std::nullopt);
  EXPECT_EQ(record.energy.edp_js, std::nullopt);
  EXPECT_THAT(record.energy.reason, HasSubstr("on b: no energy counters"));
  ASSERT_EQ(record.energy.devices.size(), 2u) << "what is known stays";
  EXPECT_EQ(record.energy.devices[0].joules, 100);
}

TEST(HostEnergy, TheProgramsOwnShareIsThatOfAllHosts) {
  const auto of_both = [](std::optional<double> here, std::optional<double> there) {
    record::Energy energy = of_a_host(100, 400), other = of_a_host(300, 700);
    energy.process_joules = here;
    other.process_joules = there;
    record::add_hosts(energy, {"a", "b"}, {record::Energy{}, record::energy_of_message(record::energy_message(other))});
    return energy.process_joules;
  };
  EXPECT_EQ(of_both(60, 90), 150);
  EXPECT_EQ(of_both(60, std::nullopt), std::nullopt);
  EXPECT_EQ(of_both(std::nullopt, 90), std::nullopt);
}

TEST(HostEnergy, WhatIsOfOneHostAloneIsNotToldOfAll) {
  record::Energy energy = of_a_host(100, 400), other = of_a_host(300, 700);
  energy.net_joules = 450;
  energy.net_interval = record::Interval{440, 460};
  energy.phases = {{.phase = "forward", .joules = 300}};
  energy.uncertainty_joules = 2;
  other.uncertainty_joules = 5;
  record::set_products(energy);
  record::add_hosts(energy, {"a", "b"}, {record::Energy{}, other});
  EXPECT_EQ(energy.net_joules, std::nullopt);
  EXPECT_EQ(energy.net_interval, std::nullopt);
  EXPECT_NE(energy.net_reason, "");
  EXPECT_TRUE(energy.phases.empty());
  EXPECT_NE(energy.phases_reason, "");
  EXPECT_EQ(energy.uncertainty_joules, 7);
  EXPECT_EQ(energy.edp_js, 15'000) << "of the sum";
  EXPECT_EQ(energy.ed2p_js2, 150'000);
}

}  // namespace
}  // namespace evener::measure
