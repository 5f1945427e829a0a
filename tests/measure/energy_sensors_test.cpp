// The sensors themselves, on made-up trees: which files they take, in which units, and what they say of those they
// leave.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "measure/energy_meter.h"
#include "measure/sensors/kernel_sensors.h"
#include "measure/sensors/open_sensors.h"
#include "measure/sensors_helpers.h"

namespace evener::measure {
namespace {

using test::TurnedClock;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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
  const test::WithoutRights nobody;
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
  const test::WithoutRights nobody;
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

const std::string kBattery0 = "sys/class/power_supply/BAT0/", kBattery1 = "sys/class/power_supply/BAT1/";

void put_battery(const test::TestFolder& tree, const std::string& folder, const std::string& power_uw) {
  test::write_text(tree / (folder + "type"), "Battery\n");
  test::write_text(tree / (folder + "status"), "Discharging\n");
  test::write_text(tree / (folder + "power_now"), power_uw + "\n");
}

TEST(BatteryRules, TwoBatteriesAreSummed) {
  const test::TestFolder tree;
  put_battery(tree, kBattery0, "7500000");
  put_battery(tree, kBattery1, "4250000");
  Battery sensor(tree.path());
  EXPECT_THAT(channel_names(sensor), ElementsAre("battery"));
  EXPECT_EQ(sensor.channels()[0].covers, record::Covers::kMachine);
  EXPECT_EQ(sensor.channels()[0].joules_per_count, 0);
  EXPECT_DOUBLE_EQ(*sensor.read(0).at(0).watts, 11.75);
  // One by its power, the other by current and voltage: 2 A times 11.5 V.
  std::filesystem::remove(tree / (kBattery1 + "power_now"));
  test::write_text(tree / (kBattery1 + "current_now"), "2000000\n");
  test::write_text(tree / (kBattery1 + "voltage_now"), "11500000\n");
  EXPECT_DOUBLE_EQ(*Battery(tree.path()).read(0).at(0).watts, 30.5);
}

TEST(BatteryRules, OneThatDoesNotDischargeLeavesTheMachinesPowerUnknown) {
  const test::TestFolder tree;
  test::write_text(tree / "sys/class/power_supply/AC/type", "Mains\n");
  put_battery(tree, kBattery0, "7500000");
  put_battery(tree, kBattery1, "0");
  test::write_text(tree / (kBattery1 + "status"), "Not charging\n");
  Battery sensor(tree.path());  // one of them does
  EXPECT_EQ(sensor.refusal(), "");
  EXPECT_THAT(sensor.read(0).at(0).problem, HasSubstr("'Not charging'"));
  EXPECT_EQ(sensor.read(0).at(0).watts, std::nullopt);
  test::write_text(tree / (kBattery0 + "status"), "Charging\n");
  EXPECT_THAT(Battery(tree.path()).refusal(), HasSubstr("does not discharge"));
}

TEST(BatteryRules, ThoseOfDevicesAndThoseThatTellNothingAreLeftOut) {
  const test::TestFolder tree;
  EXPECT_THAT(Battery(tree.path()).refusal(), HasSubstr("no battery"));
  put_battery(tree, kBattery0, "7500000");
  put_battery(tree, kBattery1, "4250000");
  test::write_text(tree / (kBattery1 + "scope"), "Device\n");
  EXPECT_DOUBLE_EQ(*Battery(tree.path()).read(0).at(0).watts, 7.5);
  test::write_text(tree / (kBattery1 + "scope"), "System\n");
  EXPECT_DOUBLE_EQ(*Battery(tree.path()).read(0).at(0).watts, 11.75);
  std::filesystem::remove(tree / (kBattery1 + "power_now"));  // neither power nor current
  EXPECT_DOUBLE_EQ(*Battery(tree.path()).read(0).at(0).watts, 7.5);
  test::write_text(tree / (kBattery1 + "current_now"), "1000000\n");  // without a voltage
  Battery sensor(tree.path());
  EXPECT_THAT(sensor.read(0).at(0).problem, HasSubstr("BAT1/current_now could not be read"));
  EXPECT_EQ(sensor.read(0).at(0).watts, std::nullopt);
}

TEST(HwmonRules, EnergyComesBeforePowerAndAverageBeforeInput) {
  const test::TestFolder tree;
  const std::string card = "sys/class/hwmon/hwmon0/";
  test::write_text(tree / (card + "name"), "i915\n");
  test::write_text(tree / (card + "power1_input"), "30000000\n");
  EXPECT_EQ(Hwmon(tree.path()).read(0).at(0).watts, 30);
  EXPECT_THAT(Hwmon(tree.path()).channels()[0].note, HasSubstr("summed over time"));
  test::write_text(tree / (card + "power1_average"), "20500000\n");
  EXPECT_EQ(Hwmon(tree.path()).read(0).at(0).watts, 20.5);
  EXPECT_EQ(Hwmon(tree.path()).channels()[0].step_s, 1);
  test::write_text(tree / (card + "energy1_input"), "1234\n");
  Hwmon counter(tree.path());
  ASSERT_EQ(counter.channels().size(), 1U) << "a card counts once";
  EXPECT_DOUBLE_EQ(counter.channels()[0].joules_per_count, 1e-6);
  EXPECT_DOUBLE_EQ(counter.channels()[0].step_s, 0.1);
  EXPECT_EQ(counter.channels()[0].note, "");
  EXPECT_EQ(counter.read(0).at(0).count, 1234U);
  EXPECT_EQ(counter.read(0).at(0).watts, std::nullopt);
  EXPECT_EQ(counter.read(0).at(0).own_watts, 20.5) << "what the counter is held against";
  test::write_text(tree / (card + "energy1_input"), "");  // the next one serves
  EXPECT_EQ(Hwmon(tree.path()).read(0).at(0).watts, 20.5);
  EXPECT_THAT(counter.read(0).at(0).problem, HasSubstr("energy1_input could not be read any more"));
}

TEST(HwmonRules, CardsAreGpusAndAMeterIsTheMachine) {
  const test::TestFolder tree;
  const std::string hwmon = "sys/class/hwmon/hwmon";
  EXPECT_THAT(Hwmon(tree.path()).refusal(), HasSubstr("no device with power or energy"));
  test::write_text(tree / (hwmon + "0/name"), "power_meter\n");
  test::write_text(tree / (hwmon + "0/power1_average"), "210000000\n");
  test::write_text(tree / (hwmon + "1/name"), "nvme\n");  // something else with a power
  test::write_text(tree / (hwmon + "1/power1_average"), "5000000\n");
  test::write_text(tree / (hwmon + "2/name"), "amdgpu\n");
  test::write_text(tree / (hwmon + "2/power1_average"), "75000000\n");
  test::write_text(tree / (hwmon + "3/name"), "xe\n");
  test::write_text(tree / (hwmon + "3/energy1_input"), "1234\n");
  Hwmon sensor(tree.path());
  EXPECT_THAT(channel_names(sensor), ElementsAre("power meter (ACPI)", "amdgpu 0", "xe 1"));
  const auto readings = sensor.read(0);
  EXPECT_EQ(readings[0].watts, 210);
  EXPECT_EQ(readings[1].watts, 75);
  EXPECT_EQ(readings[2].count, 1234u);
  EXPECT_EQ(sensor.channels()[0].covers, record::Covers::kMachine);
  EXPECT_EQ(sensor.channels()[1].covers, record::Covers::kGpu);
  test::write_text(tree / (hwmon + "0/power1_average"), "");
  test::write_text(tree / (hwmon + "2/power1_average"), "");
  test::write_text(tree / (hwmon + "3/energy1_input"), "");
  EXPECT_THAT(Hwmon(tree.path()).refusal(), HasSubstr("hwmon0/power1_average is empty"));
  std::filesystem::permissions(tree / (hwmon + "0/power1_average"), std::filesystem::perms::none);
  const test::WithoutRights nobody;
  EXPECT_THAT(Hwmon(tree.path()).refusal(), AllOf(HasSubstr("no right to read"), HasSubstr("hwmon0/power1_average")));
  EXPECT_THAT(Hwmon(tree.path()).remedy(), HasSubstr("udev"));
}

TEST(AmdEnergyRules, SocketsCountInMicrojoulesAndAnUnreadableOneIsLeftOut) {
  const test::TestFolder tree;
  const std::string hwmon = "sys/class/hwmon/hwmon0/";
  EXPECT_THAT(AmdEnergy(tree.path()).refusal(), HasSubstr("amd_energy is not there"));
  test::write_text(tree / (hwmon + "name"), "amd_energy\n");
  for (const int n : {1, 2, 3, 5}) {  // behind the gap nothing is looked for; the third is a core
    test::write_text(tree / (hwmon + "energy" + std::to_string(n) + "_input"), std::to_string(500 * n) + "\n");
    test::write_text(tree / (hwmon + "energy" + std::to_string(n) + "_label"),
                     (n == 3 ? "Ecore00" : "Esocket") + std::to_string(n - 1));
  }
  AmdEnergy sensor(tree.path());
  EXPECT_THAT(channel_names(sensor), ElementsAre("package-0", "package-1"));
  EXPECT_DOUBLE_EQ(sensor.channels()[1].joules_per_count, 1e-6);
  EXPECT_EQ(sensor.channels()[0].covers, record::Covers::kPackage);
  EXPECT_EQ(sensor.channels()[0].range, 0U);
  test::write_text(tree / (hwmon + "energy1_input"), "");
  EXPECT_THAT(sensor.read(0)[0].problem, HasSubstr("energy1_input could not be read any more"));
  EXPECT_EQ(sensor.read(0)[1].count, 1000U);
  AmdEnergy without(tree.path());
  EXPECT_THAT(channel_names(without), ElementsAre("package-0"));
  EXPECT_EQ(without.read(0)[0].count, 1000U);
  EXPECT_THAT(without.channels()[0].note, HasSubstr("without DRAM"));
  test::write_text(tree / (hwmon + "energy2_input"), "");
  EXPECT_THAT(AmdEnergy(tree.path()).refusal(), HasSubstr("energy1_input is empty"));
}

TEST(PowercapRules, AChannelHasItsRangeUnitAndCover) {
  const test::PowercapTree tree;
  tree.zone("intel-rapl:0", "package-0", 5'000'000, 1'000'000'000);
  tree.zone("intel-rapl:0:2", "dram", 2'000'000, 2'000'000'000);
  tree.zone("intel-rapl-mmio:0", "package-0", 7'000'000, 3'000'000'000);
  Powercap sensor(tree.path());
  ASSERT_THAT(channel_names(sensor), ElementsAre("package-0", "package-0 dram"));
  EXPECT_DOUBLE_EQ(sensor.channels()[0].joules_per_count, 1e-6);
  EXPECT_EQ(sensor.channels()[0].range, 1'000'000'000U);
  EXPECT_EQ(sensor.channels()[1].range, 2'000'000'000U);
  EXPECT_EQ(sensor.channels()[0].covers, record::Covers::kPackage);
  EXPECT_EQ(sensor.channels()[1].covers, record::Covers::kDram);
  EXPECT_EQ(sensor.read(0)[0].count, 5'000'000U) << "of the two that are the same, the first";
  tree.vanish("intel-rapl:0:2");
  EXPECT_EQ(sensor.read(0)[0].problem, "");
  EXPECT_THAT(sensor.read(0)[1].problem, HasSubstr("intel-rapl:0:2/energy_uj could not be read any more"));
}

TEST(PowercapRules, MemoryIsNoPackageAndPsysAloneServes) {
  const test::PowercapTree tree;
  tree.zone("intel-rapl:1", "psys", 9'000'000);
  EXPECT_THAT(channel_names(Powercap(tree.path())), ElementsAre("psys"));
  EXPECT_EQ(Powercap(tree.path()).refusal(), "");
  tree.zone("intel-rapl:0", "package-0", 1);
  tree.unreadable("intel-rapl:0");
  {
    const test::WithoutRights nobody;
    const Powercap without(tree.path());  // psys alone would hide that packages are there
    EXPECT_THAT(without.channels(), IsEmpty());
    EXPECT_THAT(without.refusal(), HasSubstr("no right to read"));
  }
  tree.says("intel-rapl:0", "nan");
  tree.zone("intel-rapl-mmio:0", "package-0", 3);  // the same package by another way
  EXPECT_THAT(channel_names(Powercap(tree.path())), ElementsAre("psys", "package-0"));
}

/// A made-up /proc/stat: jiffies of user, nice, system, idle, I/O wait, interrupts, soft ones, stolen.
void put_stat(const test::TestFolder& tree, const std::string& jiffies) {
  test::write_text(tree / "proc/stat", "cpu  " + jiffies + " 0 0\ncpu0 " + jiffies + " 0 0\n");
}

TEST(AssumedPowerRules, AProcessorDrawsByTheShareOfTheTimeThatItIsBusy) {
  const test::TestFolder tree;
  test::TurnedClock clock;
  put_stat(tree, "100 0 50 1000 0 0 0 0");
  AssumedCpu cpu({.cpu = 60, .idle = 20}, tree.path(), clock.reader());
  EXPECT_EQ(cpu.channels().at(0).kind, record::EnergyClass::kEstimated);
  EXPECT_EQ(cpu.channels()[0].covers, record::Covers::kPackage);
  EXPECT_DOUBLE_EQ(cpu.channels()[0].step_s, 0.01);
  EXPECT_THAT(cpu.channels()[0].note, HasSubstr("20 W idle to 60 W busy"));
  EXPECT_EQ(cpu.read(0)[0].count, 0U);
  clock.turn(10);
  put_stat(tree, "120 0 80 1130 0 0 0 20");  // 50 of 200 busy, 20 of them stolen by others
  EXPECT_EQ(cpu.read(0)[0].count, 300'000'000U) << "10 s of 20 W + 40 W * 0.25";
  clock.turn(3);
  EXPECT_EQ(cpu.read(0)[0].count, 300'000'000U) << "within a tick nothing is counted";
  clock.turn(1);
  put_stat(tree, "420 0 80 1130 0 0 0 20");  // all busy, and over 4 s
  EXPECT_EQ(cpu.read(0)[0].count, 540'000'000U);
  std::filesystem::remove(tree / "proc/stat");
  EXPECT_THAT(cpu.read(0)[0].problem, HasSubstr("proc/stat could not be read"));
}

TEST(AssumedPowerRules, WithoutIdleItDrawsItsPowerAllTheTime) {
  const test::TestFolder nothing;
  test::TurnedClock clock;
  AssumedCpu cpu({.cpu = 65}, nothing.path(), clock.reader());
  EXPECT_THAT(cpu.channels().at(0).note, HasSubstr("65 W all the time"));
  EXPECT_EQ(cpu.channels()[0].step_s, 0);
  cpu.read(0);
  clock.turn(2);
  EXPECT_EQ(cpu.read(0)[0].count, 130'000'000U);
  clock.turn(0.5);
  EXPECT_EQ(cpu.read(0)[0].count, 162'500'000U);
  AssumedCpu none({.gpu = 150}, nothing.path(), clock.reader());
  EXPECT_THAT(none.channels(), IsEmpty());
  EXPECT_THAT(none.read(0), IsEmpty());
}

TEST(AssumedPowerRules, CardsThatComputeAndIdleOnesDrawTheirOwn) {
  AssumedGpus gpus({.gpu = 150, .gpu_idle = 25.5}, 1, 2);
  EXPECT_THAT(channel_names(gpus), ElementsAre("gpu 0 (stated)", "idle gpu 0 (stated)", "idle gpu 1 (stated)"));
  EXPECT_EQ(gpus.channels()[0].kind, record::EnergyClass::kEstimated);
  EXPECT_EQ(gpus.channels()[2].covers, record::Covers::kGpu);
  std::vector<double> watts;
  for (const Reading& reading : gpus.read(0)) watts.push_back(*reading.watts);
  EXPECT_THAT(watts, ElementsAre(150, 25.5, 25.5));
  EXPECT_THAT(channel_names(AssumedGpus({.gpu = 150}, 2, 3)), ElementsAre("gpu 0 (stated)", "gpu 1 (stated)"));
  EXPECT_THAT(channel_names(AssumedGpus({.gpu_idle = 25}, 2, 1)), ElementsAre("idle gpu 0 (stated)"));
}

TEST(AssumedPowerRules, StatedPowersHaveBounds) {
  EXPECT_EQ(parse_assumed_power("cpu=65,idle=65").idle, 65);
  EXPECT_EQ(parse_assumed_power("gpu=1000000").gpu, 1e6);
  EXPECT_EQ(parse_assumed_power("gpu-idle=0w").gpu_idle, 0);
  EXPECT_TRUE(parse_assumed_power("gpu-idle=0").gpu == std::nullopt);
  for (const char* wrong : {"gpu=1000001", "cpu=65,idle=65.5", "gpu=65 kW", "gpu=W", ",cpu=65"}) {
    EXPECT_THROW(parse_assumed_power(wrong), UsageError) << wrong;
  }
  EXPECT_TRUE(AssumedPower{}.empty());
  EXPECT_FALSE(AssumedPower{.cpu = 1}.empty());
  EXPECT_FALSE(AssumedPower{.gpu = 1}.empty());
  EXPECT_FALSE(AssumedPower{.gpu_idle = 1}.empty());
}

TEST(OpenSensorsRules, MetersAreNamedInTheirOrderAndStatedPowersComeLast) {
  const test::TestFolder nothing;
  EnergyOptions options;
  options.nvml = "/nonexistent/library";
  options.meters = {"run:echo 5", "run:echo 7"};
  options.assumed = parse_assumed_power("cpu=65,gpu=150,gpu-idle=25");
  options.gpus_used = 1;
  options.gpus_idle = 2;
  const Sensors sensors = open_sensors(options, nothing.path(), boot_now_s);
  std::vector<std::string> channels;
  for (const auto& sensor : sensors) {
    for (const std::string& name : channel_names(*sensor)) channels.push_back(name);
  }
  EXPECT_THAT(channels, ElementsAre("meter", "meter 2", "cpu (stated)", "gpu 0 (stated)", "idle gpu 0 (stated)",
                                    "idle gpu 1 (stated)"));
  std::vector<std::string> sources;
  for (const SensorState& state : sensor_states(sensors)) sources.push_back(state.name);
  EXPECT_THAT(sources, ElementsAre("powercap", "perf", "amd_energy", "nvml", "--meter", "--meter", "hwmon", "ipmi",
                                   "battery", "--assume-power", "--assume-power"));
  EXPECT_EQ(open_sensors({.nvml = "/nonexistent/library"}, nothing.path(), boot_now_s).size(), 7U);
}

TEST(OpenSensorsRules, AmdsCountersServeWherePackagesAreNotReadable) {
  const test::PowercapTree tree;
  const std::string hwmon = "sys/class/hwmon/hwmon0/";
  test::write_text(tree / (hwmon + "name"), "amd_energy\n");
  test::write_text(tree / (hwmon + "energy1_input"), "500\n");
  test::write_text(tree / (hwmon + "energy1_label"), "Esocket0\n");
  const auto has = [&](const std::string& name) {
    const auto states = sensor_states(open_sensors({.nvml = "/nonexistent/library"}, tree.path(), boot_now_s));
    return std::ranges::any_of(states, [&](const SensorState& state) { return state.name == name; });
  };
  EXPECT_TRUE(has("amd_energy"));
  tree.zone("intel-rapl:1", "psys", 9);
  EXPECT_TRUE(has("amd_energy")) << "the machine is no package";
  tree.zone("intel-rapl:0", "package-0", 5);
  EXPECT_FALSE(has("amd_energy")) << "the packages would count twice";
}

}  // namespace
}  // namespace evener::measure
