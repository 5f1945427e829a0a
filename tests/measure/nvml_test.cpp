// NVML's sensor on a made-up library of the driver.
#include "measure/sensors/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"
#include "measure/energy_meter.h"
#include "measure/process_sampler.h"
#include "measure/sensors_helpers.h"

namespace evener::measure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Nvml : public ::testing::Test {
 protected:
  Nvml() { setenv("MADE_UP_NVML", folder_.path().c_str(), 1); }
  ~Nvml() override { unsetenv("MADE_UP_NVML"); }

  void put(const std::string& name, std::uint64_t value) const {
    test::write_text(folder_ / name, std::to_string(value) + "\n");
  }
  std::unique_ptr<NvmlSensor> sensor() const { return std::make_unique<NvmlSensor>(EVENER_MADE_UP_NVML); }

  test::TestFolder folder_;
  test::TurnedClock clock_;
};

TEST_F(Nvml, TotalEnergyWhereTheCardHasItElsePower) {
  put("count", 2);
  put("gpu0/total_energy_mj", 1'000'000);
  put("gpu0/power_mw", 151'000);
  put("gpu1/power_mw", 50'000);
  EnergyMeter meter(test::only(sensor()), clock_.reader());
  ASSERT_EQ(meter.refusal(), "");
  for (int n = 0; n <= 20; ++n) {
    put("gpu0/total_energy_mj", 1'000'000 + static_cast<std::uint64_t>(n) * 150'000);
    meter.poll();
    if (n < 20) clock_.turn(1);
  }
  const record::Energy energy = meter.energy(20);
  ASSERT_EQ(energy.devices.size(), 2u) << energy.reason;
  EXPECT_NEAR(*energy.devices[0].joules, 3000, 3);
  EXPECT_NEAR(*energy.devices[1].joules, 1000, 1);
  EXPECT_NEAR(*energy.joules, 4000, 4);
  EXPECT_THAT(energy.devices[1].note, HasSubstr("average"));
  EXPECT_THAT(energy.devices[0].note, HasSubstr("Made-up GPU"));
}

TEST_F(Nvml, ACounterThatLiesAgainstItsPowerIsReplacedByIt) {
  put("count", 1);
  put("gpu0/power_mw", 300'000);
  EnergyMeter meter(test::only((put("gpu0/total_energy_mj", 7), sensor())), clock_.reader());
  for (int n = 0; n <= 20; ++n) {
    put("gpu0/total_energy_mj", 7 + static_cast<std::uint64_t>(n) * 15);  // thousandths of what it should be
    meter.poll();
    if (n < 20) clock_.turn(0.5);
  }
  const record::DeviceEnergy card = meter.energy(10).devices.at(0);
  EXPECT_NEAR(card.joules.value_or(0), 3000, 1) << card.reason;
  EXPECT_THAT(card.note, HasSubstr("its energy counter came to 0.3 J, which its power contradicts"));
}

TEST_F(Nvml, ACardThatVanishesIsAbsentAndNamed) {
  put("count", 2);
  put("gpu0/total_energy_mj", 1);
  put("gpu1/total_energy_mj", 1);
  EnergyMeter meter(test::only(sensor()), clock_.reader());
  meter.poll();
  clock_.turn(10);
  put("gpu0/total_energy_mj", 500'001);
  put("gpu1/lost", 1);
  meter.poll();
  const record::Energy energy = meter.energy(10);
  EXPECT_EQ(energy.joules, std::nullopt);
  EXPECT_THAT(energy.reason, HasSubstr("gpu 1"));
  EXPECT_THAT(energy.reason, HasSubstr("GPU is lost"));
  EXPECT_TRUE(energy.devices[0].joules.has_value());
}

TEST_F(Nvml, MigAndThrottlingAreTold) {
  put("count", 1);
  put("gpu0/total_energy_mj", 1);
  put("gpu0/mig", 1);
  put("gpu0/throttle_reasons", 0x4 | 0x20 | 0x1);
  put("gpu0/clock_mhz", 1200);
  put("gpu0/temperature", 83);
  put("gpu0/memory_used", 5'000'000'000);
  const auto sensor = this->sensor();
  EXPECT_THAT(sensor->channels()[0].note, HasSubstr("MIG"));
  const auto states = sensor->states();
  ASSERT_EQ(states.size(), 1u);
  EXPECT_EQ(states[0].throttled, true);
  EXPECT_EQ(states[0].throttle_reasons, "power cap, heat");
  EXPECT_EQ(states[0].temperature_c, 83);
  EXPECT_EQ(states[0].memory_bytes, 5'000'000'000u);
  EXPECT_EQ(states[0].utilisation_percent, std::nullopt) << "not supported with MIG";
  put("gpu0/throttle_reasons", 0x1);  // idle: no reason to complain
  EXPECT_EQ(sensor->states()[0].throttled, false);
}

TEST_F(Nvml, WithoutLibraryOrDriverSaysWhatToDo) {
  const NvmlSensor none("/nonexistent/libnvidia-ml.so.1");
  EXPECT_THAT(none.refusal(), HasSubstr("is not found"));
  EXPECT_THAT(none.remedy(), HasSubstr("driver"));
  put("init_result", 9);
  EXPECT_THAT(sensor()->refusal(), HasSubstr("Driver Not Loaded"));
  EXPECT_THAT(sensor()->remedy(), HasSubstr("modprobe nvidia"));
}

TEST_F(Nvml, CardsThatTellNothingAreLeftOutAndTheOthersKeepTheirNumbers) {
  put("count", 3);
  put("gpu0/temperature", 40);  // neither energy nor power
  put("gpu1/total_energy_mj", 77'000);
  put("gpu2/power_mw", 45'500);
  put("gpu2/mig", 0);
  put("gpu2/utilisation", 37);
  put("gpu2/uuid", 0xabc);
  put("gpu1/temperature", 61);
  const auto nvml = this->sensor();
  std::vector<std::string> names;
  for (const Channel& channel : nvml->channels()) names.push_back(channel.name);
  EXPECT_THAT(names, ElementsAre("gpu 1", "gpu 2"));
  ASSERT_EQ(nvml->lacks().size(), 1U);
  EXPECT_EQ(nvml->lacks()[0].part, "gpu 0");
  EXPECT_THAT(nvml->lacks()[0].why, HasSubstr("neither energy nor power"));
  EXPECT_DOUBLE_EQ(nvml->channels()[0].joules_per_count, 1e-3);
  EXPECT_EQ(nvml->channels()[1].joules_per_count, 0);
  EXPECT_DOUBLE_EQ(nvml->channels()[0].most_watts, 3000);
  EXPECT_THAT(nvml->channels()[0].note, Not(HasSubstr("average")));
  EXPECT_THAT(nvml->channels()[1].note, Not(HasSubstr("MIG")));
  EXPECT_EQ(nvml->channels()[0].uuid, "") << "it tells none";
  EXPECT_EQ(nvml->channels()[1].uuid, "GPU-00000abc-0000-0000-0000-000000000000");
  const auto readings = nvml->read(0);
  EXPECT_EQ(readings.at(0).count, 77'000U);
  EXPECT_EQ(readings[0].watts, std::nullopt);
  EXPECT_EQ(readings.at(1).watts, 45.5);
  EXPECT_EQ(readings[1].count, std::nullopt);
  const auto states = nvml->states();
  ASSERT_EQ(states.size(), 2U);
  EXPECT_EQ(states[1].name, "gpu 2");
  EXPECT_EQ(states[1].utilisation_percent, 37);
  EXPECT_EQ(states[1].uuid, nvml->channels()[1].uuid);
  EXPECT_EQ(states[0].utilisation_percent, std::nullopt);
  EXPECT_EQ(states[0].temperature_c, 61);
  EXPECT_EQ(states[0].throttled, std::nullopt) << "not known, which isn't no";
}

TEST_F(Nvml, EachReasonOfThrottlingHasItsWords) {
  put("count", 1);
  put("gpu0/power_mw", 1);
  const auto nvml = this->sensor();
  const std::pair<std::uint64_t, const char*> rows[] = {{0x4, "power cap"},
                                                        {0x8, "hardware slowdown"},
                                                        {0x20, "heat"},
                                                        {0x40, "heat (hardware)"},
                                                        {0x80, "power brake"},
                                                        {0x10, ""},
                                                        {0xC0, "heat (hardware), power brake"}};
  for (const auto& [bits, words] : rows) {
    put("gpu0/throttle_reasons", bits);
    EXPECT_EQ(nvml->states().at(0).throttle_reasons, words) << bits;
    EXPECT_EQ(nvml->states()[0].throttled, *words != '\0') << bits;
  }
}

TEST_F(Nvml, WithoutCardsOrRightsSaysSo) {
  put("count", 1);  // a card that tells nothing
  EXPECT_THAT(sensor()->refusal(), HasSubstr("no GPU that tells its power"));
  put("init_result", 4);
  EXPECT_THAT(sensor()->remedy(), HasSubstr("/dev/nvidiactl"));
}

TEST_F(Nvml, ASamplerKeepsTheSpreadOfEachFigureAndTheShareOfThrottling) {
  put("count", 1);
  put("gpu0/power_mw", 50'000);
  put("gpu0/utilisation", 30);
  put("gpu0/memory_used", 1000);
  put("gpu0/clock_mhz", 1500);
  put("gpu0/temperature", 40);
  put("gpu0/throttle_reasons", 0x44);
  const test::TestFolder root;
  const auto csv = root / "samples.csv";
  ProcessSampler sampler(
      {.interval_ms = 10'000, .csv = csv, .root = root.path(), .energy = {.nvml = EVENER_MADE_UP_NVML}});
  put("gpu0/utilisation", 90);
  put("gpu0/memory_used", 4000);
  put("gpu0/clock_mhz", 1100);
  put("gpu0/temperature", 70);
  put("gpu0/throttle_reasons", 0x64);
  const SamplerSummary summary = sampler.stop();  // a sample at the start, and one here
  ASSERT_EQ(summary.devices.size(), 1U);
  const DeviceUse& gpu = summary.devices[0];
  EXPECT_EQ(gpu.name, "gpu 0");
  EXPECT_EQ(gpu.samples, 2);
  EXPECT_EQ(gpu.throttled_samples, 2);
  EXPECT_EQ(gpu.throttle_reasons, "power cap, heat (hardware), heat");
  EXPECT_EQ(gpu.utilisation_percent->mean, 60);
  EXPECT_EQ(gpu.utilisation_percent->min, 30);
  EXPECT_EQ(gpu.memory_bytes->max, 4000);
  EXPECT_EQ(gpu.clock_mhz->min, 1100);
  EXPECT_EQ(gpu.temperature_c->mean, 55);
  const std::string text = read_file(csv);
  EXPECT_THAT(text.substr(0, text.find('\n')),
              testing::EndsWith("gpu_0_utilisation_percent,gpu_0_memory_bytes,gpu_0_clock_mhz,gpu_0_temperature_c,"
                                "gpu_0_throttled"));
  EXPECT_THAT(text, testing::EndsWith(",90,4000,1100,70,1\n"));
}

TEST_F(Nvml, ACardThatIsNotThrottledInSomeSamplesIsSoInAShare) {
  put("count", 1);
  put("gpu0/power_mw", 50'000);
  put("gpu0/throttle_reasons", 0);
  const test::TestFolder root;
  ProcessSampler sampler({.interval_ms = 10'000, .root = root.path(), .energy = {.nvml = EVENER_MADE_UP_NVML}});
  put("gpu0/throttle_reasons", 0x20);
  const SamplerSummary summary = sampler.stop();
  EXPECT_EQ(summary.devices.at(0).samples, 2);
  EXPECT_EQ(summary.devices[0].throttled_samples, 1);
  EXPECT_EQ(summary.devices[0].throttle_reasons, "heat");
}

}  // namespace
}  // namespace evener::measure
