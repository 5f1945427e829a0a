// The sensors themselves, on made-up trees.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "measure/energy_meter.h"
#include "measure/sensors/hwmon.h"
#include "measure/sensors/open_sensors.h"
#include "measure/sensors/rapl.h"
#include "measure/sensors_helpers.h"

namespace evener::measure {
namespace {

using test::TurnedClock;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> channel_names(const EnergySensor& sensor) {
  std::vector<std::string> names;
  for (const Channel& channel : sensor.channels()) names.push_back(channel.name);
  return names;
}

TEST(PowercapSensor, HasPackagesDramAndPsysOnceAndNoPartsOfThem) {
  const test::PowercapTree tree;
  test::write_text(tree / "sys/class/powercap/intel-rapl/enabled", "1\n");
  tree.zone("intel-rapl:0", "package-0", 5'000'000);
  tree.zone("intel-rapl:0:0", "core", 1'000'000);
  tree.zone("intel-rapl:0:1", "uncore", 1'000'000);
  tree.zone("intel-rapl:0:2", "dram", 2'000'000);
  tree.zone("intel-rapl:1", "package-1", 0);
  tree.zone("intel-rapl:1:0", "dram", 0);
  tree.zone("intel-rapl:2", "psys", 9'000'000);
  tree.zone("intel-rapl-mmio:0", "package-0", 5'000'000);
  Powercap sensor(tree.path());
  EXPECT_EQ(sensor.refusal(), "");
  EXPECT_THAT(channel_names(sensor), ElementsAre("package-0", "package-0 dram", "package-1", "package-1 dram", "psys"));
  EXPECT_EQ(sensor.channels()[4].covers, record::Covers::kMachine);
  const auto readings = sensor.read(0);
  EXPECT_EQ(readings[1].count, 2'000'000u);
}

TEST(PowercapSensor, NoRightToReadSaysTheLineForAnAdministratorWithItsRule) {
  const test::PowercapTree tree;
  tree.zone("intel-rapl:0", "package-0", 1);
  tree.unreadable("intel-rapl:0");
  const Powercap sensor(tree.path());
  EXPECT_THAT(sensor.refusal(), HasSubstr("intel-rapl:0/energy_uj"));
  EXPECT_THAT(sensor.remedy(), HasSubstr("/etc/udev/rules.d/"));
  EXPECT_THAT(sensor.remedy(), HasSubstr("chmod a+r"));
  EXPECT_EQ(sensor.remedy().find('\n'), std::string::npos);
}

TEST(PowercapSensor, NoCountersGiveAReason) {
  const test::TestFolder nothing;
  EXPECT_THAT(Powercap(nothing.path()).refusal(), HasSubstr("no energy counters"));
}

void put_power_pmu(const test::TestFolder& tree) {
  const std::string pmu = "sys/bus/event_source/devices/power/";
  test::write_text(tree / (pmu + "type"), "9\n");
  test::write_text(tree / (pmu + "cpumask"), "0,18\n");
  test::write_text(tree / (pmu + "events/energy-pkg"), "event=0x02\n");
  test::write_text(tree / (pmu + "events/energy-pkg.scale"), "2.5e-10\n");
  test::write_text(tree / (pmu + "events/energy-ram"), "event=0x03\n");
  test::write_text(tree / (pmu + "events/energy-ram.scale"), "1e-9\n");
}

TEST(PerfPowerSensor, OpensEachEventOnTheCpusThatTheKernelNames) {
  const test::TestFolder tree;
  put_power_pmu(tree);
  std::vector<std::array<std::uint64_t, 3>> opened;
  std::vector<int> ends;
  PerfPower sensor(tree.path(), [&](std::uint32_t type, std::uint64_t config, int cpu) {
    opened.push_back({type, config, static_cast<std::uint64_t>(cpu)});
    std::array<int, 2> pipe_ends{};
    EXPECT_EQ(pipe(pipe_ends.data()), 0);
    ends.push_back(pipe_ends[1]);
    return pipe_ends[0];
  });
  EXPECT_THAT(channel_names(sensor), ElementsAre("package-0", "package-1", "package-0 dram", "package-1 dram"));
  EXPECT_THAT(opened, ElementsAre(std::array<std::uint64_t, 3>{9, 2, 0}, std::array<std::uint64_t, 3>{9, 2, 18},
                                  std::array<std::uint64_t, 3>{9, 3, 0}, std::array<std::uint64_t, 3>{9, 3, 18}));
  for (std::size_t n = 0; n < ends.size(); ++n) {
    const std::uint64_t count = 7 + n;
    EXPECT_EQ(write(ends[n], &count, sizeof count), static_cast<ssize_t>(sizeof count));
    close(ends[n]);
  }
  EXPECT_EQ(sensor.read(0)[3].count, 10u);
  EXPECT_DOUBLE_EQ(sensor.channels()[0].joules_per_count, 2.5e-10);
  EXPECT_THAT(sensor.read(0)[0].problem, HasSubstr("could not be read any more"));
}

/// On which CPUs the event of the packages is opened where the kernel's mask says so.
std::vector<int> package_cpus(const std::string& mask) {
  const test::TestFolder tree;
  put_power_pmu(tree);
  test::write_text(tree / "sys/bus/event_source/devices/power/cpumask", mask);
  std::vector<int> cpus;
  const PerfPower sensor(tree.path(), [&](std::uint32_t, std::uint64_t config, int cpu) {
    if (config == 2) cpus.push_back(cpu);
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
  });
  EXPECT_EQ(std::ranges::count(channel_names(sensor), "package-0"), cpus.empty() ? 0 : 1);
  return cpus;
}

TEST(PerfPowerSensor, ReadsListsAndRangesOfCpus) {
  EXPECT_THAT(package_cpus("0\n"), ElementsAre(0));
  EXPECT_THAT(package_cpus("0-1\n"), ElementsAre(0, 1));
  EXPECT_THAT(package_cpus("2-4,18\n"), ElementsAre(2, 3, 4, 18));
  EXPECT_THAT(package_cpus("7,36-37,120\n"), ElementsAre(7, 36, 37, 120));
  EXPECT_THAT(package_cpus("none\n"), ElementsAre()) << "then the event is not opened at all";
}

TEST(PerfPowerSensor, ReadsTheNumbersOfEvents) {
  const test::TestFolder tree;
  put_power_pmu(tree);
  test::write_text(tree / "sys/bus/event_source/devices/power/events/energy-pkg", "event=0x1f\n");
  test::write_text(tree / "sys/bus/event_source/devices/power/events/energy-ram", "event=10\n");
  std::vector<std::uint64_t> configs;
  const PerfPower sensor(tree.path(), [&](std::uint32_t, std::uint64_t config, int) {
    configs.push_back(config);
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
  });
  EXPECT_THAT(configs, ElementsAre(31, 31, 10, 10));
  EXPECT_DOUBLE_EQ(sensor.channels()[2].joules_per_count, 1e-9);
  EXPECT_EQ(sensor.channels()[2].covers, record::Covers::kDram);
}

TEST(PerfPowerSensor, WithoutTheRightSaysWhichSettingGivesIt) {
  const test::TestFolder tree;
  put_power_pmu(tree);
  const PerfPower sensor(tree.path(), [](std::uint32_t, std::uint64_t, int) { return -EACCES; });
  EXPECT_THAT(sensor.refusal(), HasSubstr("no right to open the event energy-pkg"));
  EXPECT_THAT(sensor.remedy(), HasSubstr("perf_event_paranoid"));
  EXPECT_TRUE(sensor.channels().empty());
  const test::TestFolder nothing;
  EXPECT_THAT(PerfPower(nothing.path()).refusal(), HasSubstr("no energy events"));
}

TEST(AmdEnergySensor, HasItsSocketsAndSaysThatDramIsMissing) {
  const test::TestFolder tree;
  const std::string hwmon = "sys/class/hwmon/hwmon3/";
  test::write_text(tree / (hwmon + "name"), "amd_energy\n");
  for (int n = 1; n <= 4; ++n) {
    test::write_text(tree / (hwmon + "energy" + std::to_string(n) + "_input"), std::to_string(1000 * n) + "\n");
    test::write_text(tree / (hwmon + "energy" + std::to_string(n) + "_label"),
                     n <= 2 ? "Ecore00" + std::to_string(n) : "Esocket" + std::to_string(n - 3));
  }
  AmdEnergy sensor(tree.path());
  EXPECT_THAT(channel_names(sensor), ElementsAre("package-0", "package-1"));
  EXPECT_EQ(sensor.read(0)[1].count, 4000u);
  EXPECT_THAT(sensor.channels()[0].note, HasSubstr("without DRAM"));
  test::write_text(tree / (hwmon + "energy3_input"), "");
  test::write_text(tree / (hwmon + "energy4_input"), "");
  EXPECT_THAT(AmdEnergy(tree.path()).refusal(), HasSubstr("no right to read"));
  EXPECT_THAT(AmdEnergy(tree.path()).remedy(), HasSubstr("hwmon"));
}

TEST(HwmonSensor, HasCardsAndPowerMeters) {
  const test::TestFolder tree;
  test::write_text(tree / "sys/class/hwmon/hwmon0/name", "coretemp\n");
  test::write_text(tree / "sys/class/hwmon/hwmon1/name", "amdgpu\n");
  test::write_text(tree / "sys/class/hwmon/hwmon1/power1_average", "75000000\n");
  test::write_text(tree / "sys/class/hwmon/hwmon2/name", "xe\n");
  test::write_text(tree / "sys/class/hwmon/hwmon2/energy1_input", "1234\n");
  test::write_text(tree / "sys/class/hwmon/hwmon3/name", "power_meter\n");
  test::write_text(tree / "sys/class/hwmon/hwmon3/power1_average", "210000000\n");
  Hwmon sensor(tree.path());
  EXPECT_THAT(channel_names(sensor), ElementsAre("amdgpu 0", "xe 1", "power meter (ACPI)"));
  const auto readings = sensor.read(0);
  EXPECT_EQ(readings[0].watts, 75);
  EXPECT_EQ(readings[1].count, 1234u);
  EXPECT_EQ(readings[2].watts, 210);
}

TEST(BatterySensor, OnlyWhileItDischarges) {
  const test::TestFolder tree;
  const std::string battery = "sys/class/power_supply/BAT0/";
  test::write_text(tree / "sys/class/power_supply/AC/type", "Mains\n");
  test::write_text(tree / (battery + "type"), "Battery\n");
  test::write_text(tree / (battery + "status"), "Charging\n");
  test::write_text(tree / (battery + "current_now"), "2000000\n");
  test::write_text(tree / (battery + "voltage_now"), "11500000\n");
  EXPECT_THAT(Battery(tree.path()).refusal(), HasSubstr("does not discharge"));
  test::write_text(tree / (battery + "status"), "Discharging\n");
  Battery sensor(tree.path());
  EXPECT_DOUBLE_EQ(*sensor.read(0)[0].watts, 23);
  test::write_text(tree / (battery + "status"), "Charging\n");
  EXPECT_THAT(sensor.read(0)[0].problem, HasSubstr("did not discharge all the time"));
}

TEST(AssumedPower, IsReadAndWrongWordsAreRefused) {
  const AssumedPower power = parse_assumed_power("cpu=65W, idle=20,gpu=150W,gpu-idle=25.5W");
  EXPECT_EQ(power.cpu, 65);
  EXPECT_EQ(power.idle, 20);
  EXPECT_EQ(power.gpu, 150);
  EXPECT_EQ(power.gpu_idle, 25.5);
  for (const char* wrong : {"", "65W", "cpu", "cpu=", "cpu=much", "cpu=-3", "disk=3W", "idle=20W", "cpu=20,idle=30",
                            "cpu=65W,", "cpu=nan"}) {
    EXPECT_THROW(parse_assumed_power(wrong), UsageError) << wrong;
  }
}

TEST(OpenSensors, PerfIsNotAskedWhereThePackagesAreReadable) {
  const test::PowercapTree tree;
  tree.zone("intel-rapl:0", "package-0", 5);
  const auto states = sensor_states(open_sensors({}, tree.path(), boot_now_s));
  EXPECT_EQ(states.front().name, "powercap");
  EXPECT_TRUE(states.front().usable);
  EXPECT_THAT(states.front().text, HasSubstr("package-0"));
  for (const SensorState& state : states) EXPECT_NE(state.name, "perf");
  tree.unreadable("intel-rapl:0");
  const auto without = sensor_states(open_sensors({}, tree.path(), boot_now_s));
  EXPECT_EQ(without[1].name, "perf");
  EXPECT_NE(without[0].remedy, "");
}

constexpr double kThousandth = 1e-3;

TEST(AssumedPower, FollowsTheUseOfTheProcessor) {
  const test::TestFolder root;
  TurnedClock clock;
  const auto cpus = [&](int busy, int idle) {
    test::write_text(root / "proc/stat",
                     "cpu  " + std::to_string(busy) + " 0 0 " + std::to_string(idle) + " 0 0 0 0 0 0\n");
  };
  cpus(0, 0);
  EnergyMeter meter(open_sensors({.assumed = {.cpu = 65, .idle = 20}}, root.path(), clock.reader()), clock.reader());
  ASSERT_EQ(meter.refusal(), "");
  meter.poll();
  clock.turn(10);
  cpus(1000, 1000);  // half busy
  meter.poll();
  clock.turn(10);
  cpus(1000, 3000);  // idle
  meter.poll();
  const record::Energy energy = meter.energy(20);
  EXPECT_NEAR(*energy.joules, 10 * (20 + 22.5) + 10 * 20, 625 * kThousandth);
  EXPECT_EQ(energy.kind, record::EnergyClass::kEstimated);
}

TEST(AssumedPower, TimeThatTheHostKeptIsNotBusy) {
  const test::TestFolder root;
  TurnedClock clock;
  const auto cpus = [&](int busy, int idle, int steal) {
    test::write_text(root / "proc/stat", "cpu  " + std::to_string(busy) + " 0 0 " + std::to_string(idle) + " 0 0 0 " +
                                             std::to_string(steal) + " 0 0\n");
  };
  cpus(10, 20, 30);
  EnergyMeter meter(open_sensors({.assumed = {.cpu = 65, .idle = 20}}, root.path(), clock.reader()), clock.reader());
  meter.poll();
  clock.turn(10);
  cpus(210, 120, 730);  // 200 busy of 1000
  meter.poll();
  clock.turn(4);
  meter.poll();  // within a tick: waits for the next look
  clock.turn(6);
  cpus(710, 620, 730);  // half of 1000
  meter.poll();
  EXPECT_NEAR(meter.energy(20).joules.value_or(0), 10 * (20 + 45 * 0.2) + 10 * (20 + 45 * 0.5), 1e-3);
}

}  // namespace
}  // namespace evener::measure
