// What comes of readings whose energy is known by arithmetic.
#include "measure/energy_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <cmath>

#include "measure/sensors/kernel_sensors.h"
#include "measure/sensors/open_sensors.h"
#include "measure/sensors_helpers.h"

namespace evener::measure {
namespace {

using test::MadeUpSensor;
using test::TurnedClock;
using testing::HasSubstr;

constexpr double kTenth_percent = 1e-3;

class PowercapMeter : public ::testing::Test {
 protected:
  EnergyMeter meter() { return EnergyMeter(test::only(std::make_unique<Powercap>(tree_.path())), clock_.reader()); }
  /// The energy of `seconds` in which a single package's counter goes from one number to another.
  record::Energy between(std::uint64_t from_uj, std::uint64_t to_uj, std::uint64_t range_uj, double seconds) {
    tree_.zone("intel-rapl:0", "package-0", from_uj, range_uj);
    EnergyMeter meter = this->meter();
    meter.poll();
    clock_.turn(seconds);
    tree_.count("intel-rapl:0", to_uj);
    meter.poll();
    return meter.energy(seconds);
  }

  test::PowercapTree tree_;
  TurnedClock clock_;
};

TEST_F(PowercapMeter, AddsTwoSocketsAndTheirDramButNotPsys) {
  tree_.zone("intel-rapl:0", "package-0", 5'000'000);
  tree_.zone("intel-rapl:0:2", "dram", 2'000'000);
  tree_.zone("intel-rapl:1", "package-1", 0);
  tree_.zone("intel-rapl:1:0", "dram", 0);
  tree_.zone("intel-rapl:2", "psys", 9'000'000);
  tree_.zone("intel-rapl-mmio:0", "package-0", 5'000'000);
  EnergyMeter meter = this->meter();
  ASSERT_EQ(meter.refusal(), "");
  meter.poll();
  clock_.turn(2);
  tree_.count("intel-rapl:0", 15'000'000);
  tree_.count("intel-rapl:0:2", 3'000'000);
  tree_.count("intel-rapl:1", 7'000'000);
  tree_.count("intel-rapl:1:0", 500'000);
  tree_.count("intel-rapl:2", 49'000'000);
  tree_.count("intel-rapl-mmio:0", 900'000'000);
  meter.poll();
  const record::Energy energy = meter.energy(2.0);
  ASSERT_TRUE(energy.joules.has_value()) << energy.reason;
  EXPECT_DOUBLE_EQ(*energy.joules, 10 + 1 + 7 + 0.5);
  EXPECT_DOUBLE_EQ(*energy.edp_js, 2 * 18.5);
  EXPECT_DOUBLE_EQ(*energy.ed2p_js2, 4 * 18.5);
  EXPECT_EQ(energy.kind, record::EnergyClass::kMeasured);
  ASSERT_EQ(energy.domains.size(), 4u);
  EXPECT_EQ(energy.domains[3].name, "package-1 dram");
  ASSERT_EQ(energy.devices.size(), 5u);
  EXPECT_EQ(energy.devices[4].name, "psys");
  EXPECT_FALSE(energy.devices[4].added);
  EXPECT_DOUBLE_EQ(*energy.devices[4].joules, 40);
  EXPECT_THAT(energy.source, HasSubstr("powercap (measured): package-0, package-0 dram"));
}

TEST_F(PowercapMeter, PsysAloneIsBetterThanNothing) {
  tree_.zone("intel-rapl:2", "psys", 0);
  EnergyMeter meter = this->meter();
  meter.poll();
  clock_.turn(10);
  tree_.count("intel-rapl:2", 300'000'000);
  meter.poll();
  EXPECT_DOUBLE_EQ(*meter.energy(10).joules, 300);
}

TEST_F(PowercapMeter, CountsOverAWrap) {
  tree_.zone("intel-rapl:0", "package-0", 65'990'000'000, 66'000'000'000);
  EnergyMeter meter = this->meter();
  meter.poll();
  clock_.turn(0.5);
  tree_.count("intel-rapl:0", 20'000'000);
  meter.poll();
  clock_.turn(0.5);
  tree_.count("intel-rapl:0", 25'000'000);
  meter.poll();
  EXPECT_DOUBLE_EQ(*meter.energy(1).joules, 35);
}

TEST_F(PowercapMeter, ACounterThatMayHaveGoneRoundTwiceIsInvalid) {
  // The machine slept; 65 kJ at 1 kW take 65 s.
  const record::Energy energy = between(0, 10'000'000, 65'000'000'000, 70);
  EXPECT_EQ(energy.joules, std::nullopt);
  EXPECT_THAT(energy.reason, HasSubstr("INVALID"));
  EXPECT_THAT(energy.reason, HasSubstr("more than once"));
  ASSERT_EQ(energy.lost.size(), 1u);
  EXPECT_THAT(energy.lost[0], HasSubstr("package-0 (powercap)"));
}

TEST_F(PowercapMeter, ACounterThatWasResetOrGoesRoundAtAnUnknownNumberIsAbsent) {
  const record::Energy reset = between(100'000'000'000, 0, 262'143'328'850, 5);
  EXPECT_EQ(reset.joules, std::nullopt);
  EXPECT_THAT(reset.reason, HasSubstr("went backwards"));
  const record::Energy unknown = between(990'000'000, 20'000'000, 0, 5);
  EXPECT_EQ(unknown.joules, std::nullopt);
  EXPECT_THAT(unknown.reason, HasSubstr("range is unknown"));
}

TEST_F(PowercapMeter, ADomainThatVanishesIsAbsentAndNamed) {
  tree_.zone("intel-rapl:0", "package-0", 1'000'000);
  tree_.zone("intel-rapl:1", "package-1", 1'000'000);
  EnergyMeter meter = this->meter();
  meter.poll();
  clock_.turn(5);
  tree_.count("intel-rapl:0", 251'000'000);
  tree_.vanish("intel-rapl:1");
  meter.poll();
  const record::Energy energy = meter.energy(5);
  EXPECT_EQ(energy.joules, std::nullopt);
  EXPECT_THAT(energy.reason, HasSubstr("package-1 (powercap)"));
  EXPECT_THAT(energy.reason, HasSubstr("any more"));
  EXPECT_EQ(energy.devices[0].joules, 250) << "the other socket's is still known";
}

TEST_F(PowercapMeter, ShortWindowsAreRefused) {
  tree_.zone("intel-rapl:0", "package-0", 1'000'000);
  EnergyMeter meter = this->meter();
  meter.poll();
  meter.poll();
  EXPECT_EQ(meter.energy(0.5).joules, std::nullopt);
  EXPECT_THAT(meter.energy(0.5).reason, HasSubstr("0.50 s is too short"));
}

TEST(EnergyMeter, WithoutSensorsSaysWhyAndWhoKnowsMore) {
  const test::TestFolder nothing;
  const EnergyMeter meter(open_sensors({}, nothing.path(), boot_now_s));
  EXPECT_THAT(meter.energy(5).reason, HasSubstr("no energy counters"));
  EXPECT_THAT(meter.energy(5).reason, HasSubstr("evener doctor"));
}

/// A sensor of one channel that tells the integral, or the value, of a power over time.
std::unique_ptr<MadeUpSensor> curve(TurnedClock& clock, double joules_per_count, std::function<double(double)> value,
                                    record::Covers covers = record::Covers::kPackage,
                                    const std::string& name = "device",
                                    record::EnergyClass kind = record::EnergyClass::kMeasured) {
  const double begin = clock.now();
  return std::make_unique<MadeUpSensor>(
      "made up",
      std::vector<Channel>{{.name = name, .covers = covers, .kind = kind, .joules_per_count = joules_per_count}},
      [=, read = clock.reader()]() -> std::vector<Reading> {
        const double now = value(read() - begin);
        if (joules_per_count == 0) return {{.watts = now}};
        return {{.count = static_cast<std::uint64_t>(std::llround(now / joules_per_count))}};
      });
}

TEST(EnergyMeter, PowersAreSummedOverTime) {
  TurnedClock clock;
  // 50 W rising to 150 W within 100 s.
  EnergyMeter ramp(test::only(curve(clock, 0, [](double t) { return 50 + t; })), clock.reader());
  // 100 W and a wave of 20 s: known from its integral.
  EnergyMeter wave(test::only(curve(clock, 0, [](double t) { return 100 + 40 * std::sin(t * 0.31415926535); })),
                   clock.reader());
  for (int n = 0; n <= 200; ++n) {
    ramp.poll();
    wave.poll();
    if (n < 200) clock.turn(0.5);
  }
  EXPECT_NEAR(*ramp.energy(100).joules, 10'000, 10'000 * kTenth_percent);
  EXPECT_NEAR(*wave.energy(100).joules, 10'000, 10'000 * kTenth_percent);
  EXPECT_NEAR(*wave.energy(100).edp_js, 1e6, 1e6 * kTenth_percent);
  EXPECT_NEAR(*wave.energy(100).devices[0].peak_watts, 140, 1);
}

TEST(EnergyMeter, APowerThatFallsSilentIsInvalidNotExtrapolated) {
  TurnedClock clock;
  bool silent = false;
  EnergyMeter meter(
      test::only(std::make_unique<MadeUpSensor>(
          "meter", std::vector<Channel>{{.name = "wall", .covers = record::Covers::kMachine, .step_s = 1}},
          [&]() -> std::vector<Reading> {
            if (silent) return {Reading{}};
            return {{.watts = 100}};
          })),
      clock.reader());
  for (int n = 0; n < 40; ++n) {
    meter.poll();
    silent = n >= 20;
    clock.turn(0.5);
  }
  meter.poll();
  EXPECT_EQ(meter.energy(20).joules, std::nullopt);
  EXPECT_THAT(meter.energy(20).reason, HasSubstr("said nothing for"));
}

/// The energy of ten seconds of a device that draws so much, and of a processor of stated power.
record::Energy with_stated_power(record::Covers covers, const std::string& name, double watts, double stated_watts) {
  TurnedClock clock;
  Sensors sensors = test::only(curve(
      clock, 1e-6, [=](double t) { return watts * t; }, covers, name));
  sensors.push_back(curve(
      clock, 1e-6, [=](double t) { return stated_watts * t; }, record::Covers::kPackage, "cpu (stated)",
      record::EnergyClass::kEstimated));
  EnergyMeter meter(std::move(sensors), clock.reader());
  meter.poll();
  clock.turn(10);
  meter.poll();
  return meter.energy(10);
}

TEST(EnergyMeter, ClassesAreToldApartInASum) {
  const record::Energy energy = with_stated_power(record::Covers::kGpu, "gpu 0", 200, 50);
  EXPECT_EQ(energy.kind, record::EnergyClass::kMixed);
  EXPECT_NEAR(*energy.joules, 2500, 1e-3);
  EXPECT_NEAR(energy.by_class.at("measured"), 2000, 1e-3);
  EXPECT_NEAR(energy.by_class.at("estimated"), 500, 1e-3);
  EXPECT_THAT(energy.source, HasSubstr("(estimated)"));
}

TEST(EnergyMeter, WhatIsMeasuredIsNotEstimatedToo) {
  const record::Energy energy = with_stated_power(record::Covers::kPackage, "package-0", 80, 65);
  EXPECT_EQ(energy.kind, record::EnergyClass::kMeasured);
  EXPECT_NEAR(*energy.joules, 800, 1e-3);
  EXPECT_NEAR(*energy.devices[1].joules, 650, 1e-3) << "told, but not added";
}

TEST(EnergyMeter, ThisProgramsShareIsDerivedFromCpuTime) {
  TurnedClock clock;
  EnergyMeter meter(test::only(curve(clock, 1e-6, [](double t) { return 100 * t; })), clock.reader());
  meter.poll();
  clock.turn(10);
  meter.poll(0, 0.5);
  clock.turn(10);
  meter.poll(0, 0.25);
  EXPECT_NEAR(*meter.energy(20).process_joules, 500 + 250, 750 * kTenth_percent);
}

TEST(IdlePower, IsMeasuredWithAnIntervalAndTakenOff) {
  TurnedClock clock;
  // Idle: 20 W and a disturbance that is known; after 20 s 75 W.
  const auto joules = [](double t) {
    const double idle_s = std::min(t, 20.0);
    return 20 * idle_s + 2 * std::sin(idle_s) + 75 * std::max(0.0, t - 20);
  };
  Sensors sensors = test::only(curve(clock, 1e-6, joules));
  EnergyMeter before(std::move(sensors), clock.reader());
  const IdlePower idle = measure_idle(before, 20, 0.5, [&](double s) { clock.turn(s); });
  ASSERT_TRUE(idle.watts.has_value()) << idle.reason;
  EXPECT_NEAR(*idle.watts, 20 + 2 * std::sin(20.0) / 20, 20 * kTenth_percent);
  ASSERT_TRUE(idle.interval.has_value());
  EXPECT_LT(idle.interval->low, 20);
  EXPECT_GT(idle.interval->high, 20);
  EXPECT_LT(idle.interval->high - idle.interval->low, 3);
  EXPECT_NEAR(idle.seconds, 20, 1e-9);
  const double begin = clock.now();
  EnergyMeter run(test::only(curve(clock, 1e-6, [](double t) { return 75 * t; })), clock.reader());
  run.poll();
  clock.turn(40);
  run.poll();
  const record::Energy energy = run.energy(clock.now() - begin, idle);
  EXPECT_NEAR(*energy.joules, 3000, 3);
  EXPECT_NEAR(*energy.net_joules, 3000 - *idle.watts * 40, 3);
  EXPECT_NEAR(energy.net_interval->high - energy.net_interval->low, 40 * (idle.interval->high - idle.interval->low),
              1e-6);
  EXPECT_NEAR(*energy.devices[0].net_joules, *energy.net_joules, 1e-6);
}

TEST(IdlePower, ANegativeNetIsToldNotClamped) {
  TurnedClock clock;
  EnergyMeter meter(test::only(curve(clock, 1e-6, [](double t) { return 10 * t; })), clock.reader());
  meter.poll();
  clock.turn(10);
  meter.poll();
  const IdlePower idle{.channels = {{"made up", "device", 12}}, .watts = 12, .seconds = 10};
  EXPECT_NEAR(*meter.energy(10, idle).net_joules, -20, 1e-3);
  EXPECT_THAT(meter.energy(10).net_reason, HasSubstr("--idle"));
}

TEST(PhaseEnergy, GoesToThePhasesByTheirTime) {
  TurnedClock clock;
  // 100 W in the first 10 s, in which 6 s forward ended; 40 W in the next 10 s, all read.
  EnergyMeter meter(
      test::only(curve(clock, 1e-6, [](double t) { return 100 * std::min(t, 10.0) + 40 * std::max(0.0, t - 10); })),
      clock.reader());
  PhaseTotals totals;
  const auto spend = [&](Phase phase, double seconds, std::int64_t marks) {
    auto& sum = totals.critical[static_cast<std::size_t>(phase)];
    sum.ns += static_cast<std::int64_t>(seconds * 1e9);
    sum.marks += marks;
  };
  meter.poll(0, {}, &totals);
  clock.turn(10);
  spend(Phase::kForward, 6, 6);
  meter.poll(0, {}, &totals);
  for (int n = 0; n < 10; ++n) {  // one mark, which ends after 10 s
    clock.turn(1);
    if (n == 9) spend(Phase::kRead, 10, 1);
    meter.poll(0, {}, &totals);
  }
  const record::Energy energy = meter.energy(20);
  std::map<std::string, double> joules;
  for (const record::PhaseEnergy& phase : energy.phases) joules[phase.phase] = phase.joules;
  EXPECT_NEAR(joules["forward"], 600, 600 * kTenth_percent);
  EXPECT_NEAR(joules["read"], 400, 400 * kTenth_percent);
  EXPECT_NEAR(joules["other"], 400, 400 * kTenth_percent);
  EXPECT_EQ(energy.phases_reason, "");
}

TEST(EnergyMeter, KeepsNoMoreMemoryInTenHours) {
  TurnedClock clock;
  Sensors sensors = test::only(curve(clock, 1e-6, [](double t) { return 100 * t; }));
  sensors.push_back(curve(
      clock, 0, [](double) { return 30; }, record::Covers::kGpu, "gpu 0"));
  EnergyMeter meter(std::move(sensors), clock.reader());
  PhaseTotals totals;
  const auto hours = [&](int count) {
    for (int n = 0; n < count * 7200; ++n) {
      auto& sum = totals.critical[static_cast<std::size_t>(Phase::kForward)];
      sum.ns += 400'000'000;
      ++sum.marks;
      meter.poll(0, 0.5, &totals);
      clock.turn(0.5);
    }
  };
  hours(1);
  const auto before = mallinfo2().uordblks;
  hours(9);
  EXPECT_LT(mallinfo2().uordblks, before + 65536);
  meter.poll();
  EXPECT_NEAR(*meter.energy(36'000).joules, 36'000 * 130.0, 36'000 * 130.0 * kTenth_percent);
}

TEST(EnergyMeter, APowerHoldsUntilTheNextIsKnown) {
  TurnedClock clock;
  bool silent = false;
  EnergyMeter meter(
      test::only(std::make_unique<MadeUpSensor>(
          "meter", std::vector<Channel>{{.name = "wall", .covers = record::Covers::kMachine, .step_s = 1}},
          [&]() -> std::vector<Reading> { return {silent ? Reading{} : Reading{.watts = 100}}; })),
      clock.reader());
  EXPECT_EQ(meter.joules_so_far(), std::nullopt) << "it was not read yet";
  meter.poll();
  EXPECT_EQ(meter.joules_so_far(), 0);
  clock.turn(3);
  meter.poll();
  EXPECT_DOUBLE_EQ(*meter.joules_so_far(), 300);
  silent = true;
  clock.turn(2);
  meter.poll();
  EXPECT_DOUBLE_EQ(*meter.joules_so_far(), 500);
  EXPECT_DOUBLE_EQ(*meter.energy(5).joules, 500);
}

TEST(PhaseEnergy, MarksBelowTenStepsOfTheCounterAreFlagged) {
  PhaseEnergyDivider divider;
  PhaseTotals totals;
  totals.critical[static_cast<std::size_t>(Phase::kForward)] = {500'000'000, 1};
  totals.critical[static_cast<std::size_t>(Phase::kUpdate)] = {500'000'000, 1000};
  divider.add(10, 1, totals);
  const auto phases = divider.phases(0.001);
  ASSERT_EQ(phases.size(), 3u);
  for (const record::PhaseEnergy& phase : phases) {
    EXPECT_EQ(phase.short_marks, phase.phase == "update") << phase.phase;
    EXPECT_NEAR(phase.joules, phase.phase == "other" ? 0 : 5, 1e-9);
  }
}

TEST(PhaseEnergy, APhaseOfManyLooksGetsAllThatWasUsedInIt) {
  constexpr int kLooks = 1000;  // the oldest of which are kept as one
  PhaseEnergyDivider divider;
  PhaseTotals totals;
  for (int n = 1; n < kLooks; ++n) divider.add(n, 1, totals);
  totals.critical[static_cast<std::size_t>(Phase::kForward)] = {(kLooks - 10) * std::int64_t{1'000'000'000}, 1};
  divider.add(kLooks, 1, totals);
  const auto phases = divider.phases(0.001);
  ASSERT_EQ(phases.size(), 2u);
  // Without the first ten seconds, whose looks have become one with 735 others: their energies are told evenly.
  const double all = kLooks * (kLooks + 1) / 2.0, merged = 745 * 746 / 2.0, other = merged * 10 / 745;
  EXPECT_NEAR(phases[0].joules, all - other, 1e-6);
  EXPECT_EQ(phases[1].phase, "other");
  EXPECT_NEAR(phases[1].joules, other, 1e-6);
  EXPECT_NEAR(phases[1].seconds, 10, 1e-9);
}

}  // namespace
}  // namespace evener::measure
