#include "measure/power_sensors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/test_folder.h"

namespace evener::measure {
namespace {

class Powercap : public ::testing::Test {
 protected:
  void zone(const std::string& id, const std::string& name, std::uint64_t energy_uj,
            std::uint64_t range_uj = 1'000'000'000) {
    const std::string folder = "sys/class/powercap/" + id + "/";
    test::write_text(folder_ / (folder + "name"), name + "\n");
    test::write_text(folder_ / (folder + "energy_uj"), std::to_string(energy_uj) + "\n");
    test::write_text(folder_ / (folder + "max_energy_range_uj"), std::to_string(range_uj) + "\n");
  }
  void count(const std::string& id, std::uint64_t energy_uj) {
    test::write_text(folder_ / ("sys/class/powercap/" + id + "/energy_uj"), std::to_string(energy_uj) + "\n");
  }
  PowercapSensor sensor() const { return PowercapSensor(folder_.path()); }

  test::TestFolder folder_;
};

TEST_F(Powercap, AddsPackagesAndDramOnce) {
  test::write_text(folder_ / "sys/class/powercap/intel-rapl/enabled", "1\n");
  zone("intel-rapl:0", "package-0", 5'000'000);
  zone("intel-rapl:0:0", "core", 1'000'000);
  zone("intel-rapl:0:1", "uncore", 1'000'000);
  zone("intel-rapl:0:2", "dram", 2'000'000);
  zone("intel-rapl:1", "package-1", 0);
  zone("intel-rapl:1:0", "dram", 0);
  zone("intel-rapl:2", "psys", 9'000'000);
  zone("intel-rapl-mmio:0", "package-0", 5'000'000);
  PowercapSensor sensor = this->sensor();
  ASSERT_EQ(sensor.refusal(), "");
  sensor.update();
  for (const char* id : {"intel-rapl:0:0", "intel-rapl:0:1", "intel-rapl:2", "intel-rapl-mmio:0"})
    count(id, 900'000'000);
  count("intel-rapl:0", 15'000'000);
  count("intel-rapl:0:2", 3'000'000);
  count("intel-rapl:1", 7'000'000);
  count("intel-rapl:1:0", 500'000);
  sensor.update();
  const Energy energy = sensor.energy(2.0);
  ASSERT_TRUE(energy.joules.has_value()) << energy.reason;
  EXPECT_DOUBLE_EQ(*energy.joules, 10 + 1 + 7 + 0.5);
  EXPECT_DOUBLE_EQ(*energy.edp_js, 2 * 18.5);
  ASSERT_EQ(energy.domains.size(), 4u);
  EXPECT_EQ(energy.domains[1].name, "package-0 dram");
  EXPECT_EQ(energy.domains[3].name, "package-1 dram");
  EXPECT_NE(energy.source.find("measured"), std::string::npos);
}

TEST_F(Powercap, CountsOverAWrap) {
  zone("intel-rapl:0", "package-0", 990'000'000, 1'000'000'000);
  PowercapSensor sensor = this->sensor();
  sensor.update();
  count("intel-rapl:0", 20'000'000);
  sensor.update();
  count("intel-rapl:0", 25'000'000);
  sensor.update();
  EXPECT_DOUBLE_EQ(*sensor.energy(5).joules, 35);
}

TEST_F(Powercap, AWrapOfUnknownRangeIsAbsentNotAGuess) {
  zone("intel-rapl:0", "package-0", 990'000'000, 0);
  PowercapSensor sensor = this->sensor();
  sensor.update();
  count("intel-rapl:0", 20'000'000);
  sensor.update();
  const Energy energy = sensor.energy(5);
  EXPECT_EQ(energy.joules, std::nullopt);
  EXPECT_NE(energy.reason.find("went backwards"), std::string::npos);
}

TEST_F(Powercap, NoCountersGiveAReason) {
  const Energy energy = sensor().energy(5);
  EXPECT_EQ(energy.joules, std::nullopt);
  EXPECT_NE(energy.reason.find("no energy counters"), std::string::npos);
}

TEST_F(Powercap, NoRightToReadSaysHowToGetIt) {
  zone("intel-rapl:0", "package-0", 1);
  count("intel-rapl:0", 0);
  // A counter that can't be parsed stands in for one that can't be opened: root may open everything.
  test::write_text(folder_ / "sys/class/powercap/intel-rapl:0/energy_uj", "");
  const PowercapSensor sensor = this->sensor();
  EXPECT_NE(sensor.refusal().find("chmod a+r"), std::string::npos);
  EXPECT_NE(sensor.refusal().find("intel-rapl:0/energy_uj"), std::string::npos);
}

TEST_F(Powercap, ACounterThatVanishesIsAbsent) {
  zone("intel-rapl:0", "package-0", 1'000'000);
  PowercapSensor sensor = this->sensor();
  sensor.update();
  std::filesystem::remove(folder_ / "sys/class/powercap/intel-rapl:0/energy_uj");
  sensor.update();
  EXPECT_EQ(sensor.energy(5).joules, std::nullopt);
  EXPECT_NE(sensor.energy(5).reason.find("any more"), std::string::npos);
}

TEST_F(Powercap, ShortWindowsAreRefused) {
  zone("intel-rapl:0", "package-0", 1'000'000);
  PowercapSensor sensor = this->sensor();
  sensor.update();
  sensor.update();
  EXPECT_EQ(sensor.energy(0.5).joules, std::nullopt);
  EXPECT_NE(sensor.energy(0.5).reason.find("0.50 s is too short"), std::string::npos);
}

}  // namespace
}  // namespace evener::measure
