// Two sources of one run that are held against each other: a gain, an offset, a lag, a stop and a jump of made-up
// meters are each named, and meters that differ by noise are not accused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "measure/energy_meter.h"
#include "measure/sensors_helpers.h"
#include "record/record.h"
#include "record/validity.h"

namespace evener::measure {
namespace {

using record::Agreement;
using record::Covers;
using record::MeterCheck;
using record::MeterFault;
using test::MadeUpSensor;
using test::TurnedClock;
using testing::HasSubstr;

constexpr double kCheckedRun_s = 120;

/// A machine that is busy and idle by turns of 7 and 5 s.
double load_by_turns_watts(double time_s) {
  return time_s < 0 || std::fmod(time_s, 12) >= 7 ? 60 : 100;
}

/// The same in rounds of 5.42 s.
double load_in_rounds_watts(double time_s) {
  return std::fmod(time_s + 54.2, 5.42) < 2.5 ? 60 : 100;
}

/// Levels that are held for 10 s each, as if a meter told a new value so seldom.
double load_in_steps_watts(double time_s) {
  constexpr double kLevels[] = {60, 100, 75, 120, 90, 65, 110};
  return kLevels[static_cast<std::size_t>(std::max(0.0, time_s) / 10) % std::size(kLevels)];
}

/// What a made-up meter makes of the power that there is.
struct DistortedMeter {
  double (*load_watts)(double time_s) = load_by_turns_watts;
  double gain = 1, offset_watts = 0, lag_s = 0, noise = 0;
  double stops_at_s = 1e9, jumps_at_s = 1e9, jump = 1;
  bool counts = false;
  bool at_socket = true;
  Covers covers = Covers::kMachine;
  double begins_s = 0, ends_s = 1e9;  // it gives values only between these
  double spike_j = 0;                 // counted at once after 30 s
  double every_s = 0.5;               // it tells a new value

  double watts(double time_s) const {
    return (load_watts(time_s - lag_s) * gain + offset_watts) * (time_s >= jumps_at_s ? jump : 1);
  }
  double joules(double time_s) const {
    constexpr double kStep_s = 0.05;
    double sum = 0;
    for (double t = 0; t < std::min(time_s, stops_at_s) - kStep_s / 2; t += kStep_s) sum += kStep_s * watts(t);
    return sum + (time_s >= 30 ? spike_j : 0);
  }
};

std::unique_ptr<EnergySensor> distorted_sensor(const DistortedMeter& meter, const std::string& name, TurnedClock& clock,
                                               unsigned int seed) {
  const Channel channel{.name = name,
                        .covers = meter.covers,
                        .joules_per_count = meter.counts ? 1e-3 : 0,
                        .step_j = meter.counts ? 1e-3 : 0,
                        .step_s = meter.every_s,
                        .at_socket = meter.at_socket};
  auto random = std::make_shared<std::mt19937>(seed);
  return std::make_unique<MadeUpSensor>(
      name, std::vector{channel}, [=, begin_s = clock.now(), now = clock.reader()]() -> std::vector<Reading> {
        const double time_s = now() - begin_s;
        if (time_s < meter.begins_s || time_s > meter.ends_s) return {{.error = "it doesn't answer"}};
        if (std::remainder(time_s, meter.every_s) != 0) return {Reading{}};
        if (meter.counts) return {{.count = static_cast<std::uint64_t>(std::llround(1e3 * meter.joules(time_s)))}};
        std::normal_distribution<double> noise(1, meter.noise);
        return {{.watts = meter.watts(std::min(time_s, meter.stops_at_s)) * (meter.noise > 0 ? noise(*random) : 1)}};
      });
}

record::Energy run_of(const std::vector<DistortedMeter>& meters, double run_s = kCheckedRun_s, unsigned int seed = 1) {
  TurnedClock clock;
  Sensors sensors;
  for (std::size_t n = 0; n < meters.size(); ++n) {
    sensors.push_back(distorted_sensor(meters[n], "meter " + std::to_string(n + 1), clock,
                                       100 * seed + static_cast<unsigned int>(n)));
  }
  EnergyMeter meter(std::move(sensors), clock.reader());
  meter.poll();
  while (meter.seconds() < run_s - 0.25) {
    clock.turn(0.5);
    meter.poll();
  }
  return meter.energy(run_s);
}

MeterCheck check_between(const DistortedMeter& first, const DistortedMeter& second, double run_s = kCheckedRun_s) {
  const record::Energy energy = run_of({first, second}, run_s);
  EXPECT_EQ(energy.checks.size(), 1U);
  return energy.checks.empty() ? MeterCheck{} : energy.checks.front();
}

std::vector<std::string> broken_energy_rules(const record::Energy& energy) {
  record::Record record;
  record.energy = energy;
  std::vector<std::string> what;
  for (const record::ValidityReason& reason : record::judge(record).reasons) {
    if (reason.rule == "energy") what.push_back(reason.what);
  }
  return what;
}

TEST(MeterCheck, TwoMetersThatSayTheSameAgree) {
  const MeterCheck check = check_between({}, {});
  EXPECT_EQ(check.agreement, Agreement::kAgree) << check.reason;
  EXPECT_EQ(check.fault, MeterFault::kNone);
  EXPECT_FALSE(check.nested);
  EXPECT_EQ(check.first + ", " + check.second, "meter 1, meter 2");
  EXPECT_NEAR(check.ratio.value_or(0), 1, 1e-9);
  ASSERT_TRUE(check.interval.has_value());
  EXPECT_NEAR(check.window_s, 1, 1e-9);
  EXPECT_GE(check.windows, 100);
  EXPECT_EQ(check.lag_s, std::nullopt);
}

TEST(MeterCheck, AGainIsNamed) {
  const record::Energy energy = run_of({{.noise = 0.01}, {.gain = 1.2, .noise = 0.01}});
  const MeterCheck& check = energy.checks.at(0);
  EXPECT_EQ(check.fault, MeterFault::kGain) << check.reason;
  EXPECT_EQ(check.agreement, Agreement::kDisagree);
  EXPECT_NEAR(check.ratio.value_or(0), 1 / 1.2, 0.01);
  EXPECT_THAT(check.reason, HasSubstr("meter 1 tells 0.83"));
  EXPECT_THAT(broken_energy_rules(energy),
              testing::ElementsAre(HasSubstr("meter 1 and meter 2 contradict each other (gain): meter 1 tells 0.83")));
}

TEST(MeterCheck, AnOffsetIsNamed) {
  const MeterCheck check = check_between({.offset_watts = 20, .noise = 0.01}, {.noise = 0.01});
  EXPECT_EQ(check.fault, MeterFault::kOffset) << check.reason;
  EXPECT_EQ(check.agreement, Agreement::kDisagree);
  EXPECT_NEAR(check.offset_watts.value_or(0), -20, 2);
  EXPECT_THAT(check.reason, testing::ContainsRegex("meter 1 tells .(19[.]|20).* W against meter 2"));
}

TEST(MeterCheck, ALagIsNamedAndTheRatioIsOfTheSameMoments) {
  const MeterCheck check = check_between({.noise = 0.01}, {.lag_s = 3, .noise = 0.01});
  EXPECT_EQ(check.fault, MeterFault::kLag) << check.reason;
  EXPECT_NEAR(check.lag_s.value_or(0), 3, 0.6);
  EXPECT_EQ(check.agreement, Agreement::kAgree) << "3 s of 120 s move the window by little";
  EXPECT_NEAR(check.ratio.value_or(0), 1, 0.01);
  ASSERT_TRUE(check.interval.has_value());
  EXPECT_GT(check.interval->low, 0.97) << "windows of other moments would reach from 0.6 to 1.7";
  EXPECT_LT(check.interval->high, 1.03);
  const MeterCheck other = check_between({.lag_s = 3, .noise = 0.01}, {.noise = 0.01}, 40);
  EXPECT_EQ(other.fault, MeterFault::kLag) << other.reason;
  EXPECT_NEAR(other.lag_s.value_or(0), -3, 0.6);
  EXPECT_EQ(other.agreement, Agreement::kDisagree) << "3 s of 40 s are too much";
  EXPECT_THAT(other.reason, HasSubstr("meter 1 follows meter 2 by 3 s"));
}

TEST(MeterCheck, MetersThatAreReadApartAreNotARoundOfTheLoadApart) {
  DistortedMeter meter{.load_watts = load_in_rounds_watts, .every_s = 1}, later = meter;
  later.lag_s = 0.42;
  const MeterCheck check = check_between(meter, later, 60);
  EXPECT_NE(check.agreement, Agreement::kDisagree) << check.reason;
  EXPECT_EQ(check.lag_s, std::nullopt) << "5 s are 0.42 s and a round";
  later.lag_s = 0.8;  // what meters that average have is told, and no fault
  meter.load_watts = later.load_watts = load_by_turns_watts;
  meter.every_s = later.every_s = 0.5;
  const MeterCheck usual = check_between(meter, later, 15);
  EXPECT_EQ(usual.fault, MeterFault::kNone) << usual.reason;
}

TEST(MeterCheck, ALoadInStepsHidesNoFault) {
  struct Case {
    MeterFault fault;
    DistortedMeter faulty;
  };
  const DistortedMeter right{.load_watts = load_in_steps_watts};
  const auto but = [&](auto change) {
    DistortedMeter meter = right;
    change(meter);
    return meter;
  };
  const Case cases[] = {{MeterFault::kNone, right},
                        {MeterFault::kGain, but([](DistortedMeter& meter) { meter.gain = 1.3; })},
                        {MeterFault::kJump, but([](DistortedMeter& meter) {
                           meter.jumps_at_s = 45;
                           meter.jump = 1.3;
                         })},
                        {MeterFault::kStop, but([](DistortedMeter& meter) { meter.stops_at_s = 45; })},
                        {MeterFault::kLag, but([](DistortedMeter& meter) { meter.lag_s = 3; })}};
  for (const auto& [fault, faulty] : cases) {
    const MeterCheck check = check_between(right, faulty, 90);
    EXPECT_EQ(check.fault, fault) << meter_fault_name(fault) << ": " << check.reason;
    EXPECT_LE(check.window_s, 2);
  }
}

TEST(MeterCheck, ASingleFalseCountIsNamed) {
  const DistortedMeter right{.counts = true};
  DistortedMeter faulty = right;
  faulty.spike_j = 900;  // of some 5000 in 60 s, at once
  const MeterCheck two = check_between(right, faulty, 60);
  EXPECT_EQ(two.fault, MeterFault::kJump) << two.reason;
  EXPECT_THAT(two.reason, HasSubstr("meter 2 told"));
  faulty.covers = Covers::kPackage;
  const MeterCheck part = check_between(faulty, {.gain = 1.2, .counts = true}, 60);
  EXPECT_EQ(part.fault, MeterFault::kJump) << "the part is above its whole for a moment, and not in the median";
  EXPECT_EQ(part.agreement, Agreement::kDisagree);
}

TEST(MeterCheck, AStopIsNamed) {
  for (const bool counts : {true, false}) {
    const record::Energy energy = run_of({{.noise = 0.01}, {.stops_at_s = 70, .counts = counts}});
    const MeterCheck& check = energy.checks.at(0);
    EXPECT_EQ(check.fault, MeterFault::kStop) << counts << " " << check.reason;
    EXPECT_EQ(check.agreement, Agreement::kDisagree);
    EXPECT_THAT(check.reason, HasSubstr("meter 2 stood still for")) << counts;
    EXPECT_THAT(check.reason, HasSubstr("while meter 1 went on")) << counts;
    EXPECT_EQ(broken_energy_rules(energy).size(), 1U);
  }
}

TEST(MeterCheck, AJumpIsNamedWithBothRatios) {
  const MeterCheck check = check_between({.noise = 0.01}, {.noise = 0.01, .jumps_at_s = 60, .jump = 1.15});
  EXPECT_EQ(check.fault, MeterFault::kJump) << check.reason;
  EXPECT_EQ(check.agreement, Agreement::kDisagree);
  EXPECT_THAT(check.reason,
              testing::ContainsRegex("their ratio was (1|1.00|0.99[0-9]*) until (59|60|61).* and 0.8[67]"));
}

TEST(MeterCheck, APackageInAWallMeterIsToldWithWhatTheRestDraws) {
  const MeterCheck check = check_between({.noise = 0.01, .counts = true, .covers = Covers::kPackage},
                                         {.gain = 1.15, .offset_watts = 30, .noise = 0.01});
  EXPECT_EQ(check.agreement, Agreement::kAgree) << check.reason;
  EXPECT_TRUE(check.nested);
  EXPECT_NEAR(check.ratio.value_or(0), 0.69, 0.02);
  EXPECT_NEAR(check.offset_watts.value_or(0), 30, 10);
}

TEST(MeterCheck, APartAboveItsWholeIsAFault) {
  const MeterCheck check = check_between({.gain = 1.1, .noise = 0.01, .covers = Covers::kPackage}, {.noise = 0.01});
  EXPECT_EQ(check.fault, MeterFault::kGain);
  EXPECT_EQ(check.agreement, Agreement::kDisagree);
  EXPECT_THAT(check.reason, HasSubstr("the part meter 1 tells 1.1 times what its whole does"));
}

TEST(MeterCheck, WhatAMachineDrawsBesideAGpuMayChange) {
  const DistortedMeter gpu{.covers = Covers::kGpu};
  EXPECT_EQ(check_between(gpu, {.offset_watts = 30, .jumps_at_s = 60, .jump = 1.6}).agreement, Agreement::kAgree);
  const DistortedMeter package{.covers = Covers::kPackage};
  EXPECT_EQ(check_between(package, {.offset_watts = 30, .jumps_at_s = 60, .jump = 1.6}).fault, MeterFault::kJump);
  EXPECT_EQ(check_between(package, {.offset_watts = 30, .jumps_at_s = 60, .jump = 1.05}).fault, MeterFault::kNone)
      << "fans";
}

TEST(MeterCheck, AFewWindowsAreNotJudged) {
  const MeterCheck check = check_between({}, {.gain = 2}, 8);
  EXPECT_EQ(check.agreement, Agreement::kUndecided);
  EXPECT_NEAR(check.ratio.value_or(0), 0.5, 1e-9);
  EXPECT_EQ(check.interval, std::nullopt);
  EXPECT_THAT(check.reason, HasSubstr("8 windows of 1 s are too few to judge (at least 10)"));
}

TEST(MeterCheck, AMeterThatComesLateOrGoesAwayIsTold) {
  const MeterCheck late = check_between({}, {.begins_s = 60});
  EXPECT_EQ(late.agreement, Agreement::kAgree);
  EXPECT_THAT(late.reason, HasSubstr("meter 2 told nothing in the first 60.0 s"));
  const record::Energy gone = run_of({{.ends_s = 50}, {}});
  EXPECT_THAT(gone.checks.at(0).reason, HasSubstr("meter 1 told nothing in the last 70.0 s"));
  EXPECT_THAT(broken_energy_rules(gone), testing::ElementsAre(HasSubstr("it said nothing for 70.0 of 120.0 s")))
      << "the first counts";
  EXPECT_THAT(check_between({}, {.begins_s = 1e6}).reason, HasSubstr("meter 2 told nothing"));
}

TEST(MeterCheck, OneSourceIsHeldAgainstNothing) {
  EXPECT_TRUE(run_of({{}}).checks.empty());
  EXPECT_TRUE(run_of({}).checks.empty());
}

TEST(MeterCheck, EqualMetersThatDifferByNoiseAreNotAccused) {
  int alarms = 0;
  for (unsigned int seed = 1; seed <= 200; ++seed) {
    const record::Energy energy = run_of({{.noise = 0.03}, {.noise = 0.03}}, 60, seed);
    if (energy.checks.at(0).fault == MeterFault::kNone && energy.checks.at(0).agreement == Agreement::kAgree) continue;
    ++alarms;
  }
  EXPECT_LE(alarms, 10);
}

// Curves and channels that are given, without a meter.

TEST(PowerCurve, TellsJoulesOfTheTimeThatItKnows) {
  PowerCurve curve;
  EXPECT_EQ(curve.joules(0, 1), std::nullopt);
  curve.add(10, 11, 4);
  curve.add(11, 11, 100);  // took no time
  EXPECT_EQ(curve.begin_s(), 10);
  EXPECT_EQ(curve.end_s(), 11);
  EXPECT_DOUBLE_EQ(curve.joules(10, 11).value_or(0), 4);
  EXPECT_DOUBLE_EQ(curve.joules(10.5, 10.625).value_or(0), 0.5);
  EXPECT_DOUBLE_EQ(curve.joules(10, 11.005).value_or(0), 4) << "less than 1 % is unknown";
  EXPECT_EQ(curve.joules(9.9, 11), std::nullopt);
  EXPECT_EQ(curve.joules(11, 12), std::nullopt);
  EXPECT_EQ(curve.joules(8, 10), std::nullopt);
  curve.add(12, 13.1, 8.8);  // nobody saw the second before
  EXPECT_EQ(curve.joules(10, 13), std::nullopt);
  EXPECT_DOUBLE_EQ(curve.joules(10.25, 11).value_or(0), 3);
  EXPECT_NEAR(curve.joules(12.5, 13.1).value_or(0), 4.8, 1e-9) << "the last bin ends with what is known";
}

TEST(PowerCurve, OfALongRunHasWiderBinsAndTheSameJoules) {
  PowerCurve curve;
  curve.add(1000, 1010.1, 101);  // ends in a bin without a neighbour
  curve.add(1010.1, 1600, 589.9);
  EXPECT_EQ(curve.width_s(), 0.5);
  EXPECT_NEAR(curve.joules(1000, 1010).value_or(0), 100, 1e-9);
  EXPECT_NEAR(curve.joules(1010, 1010.5).value_or(0), 1.4, 1e-9);
  EXPECT_NEAR(curve.joules(1010.5, 1600).value_or(0), 589.5, 1e-9);
  for (int n = 1600; n < 5000; ++n) curve.add(n, n + 1, n);
  EXPECT_EQ(curve.width_s(), 2);
  EXPECT_NEAR(curve.joules(3000, 3010).value_or(0), 30045, 1e-6);
  EXPECT_NEAR(curve.joules(1000, 1600).value_or(0), 690.9, 1e-6);
  EXPECT_EQ(curve.end_s(), 5000);
}

TEST(LostWhileStill, IsWhatAStoppedCounterDoesNotMakeUpFor) {
  // 10 W for 100 s, but for the 20 s from `still_s` on, in which it came to `within_j`.
  const auto lost = [](double still_s, double within_j, double step_j, double to_s = 0) {
    CheckedChannel channel{.name = "counter", .curve = {}, .step_j = step_j, .counts = true};
    channel.curve.add(0, still_s, 10 * still_s);
    channel.curve.add(still_s, still_s + 20, within_j);
    channel.curve.add(still_s + 20, 100, 10 * (80 - still_s));
    channel.still = {still_s, to_s > 0 ? to_s : still_s + 20};
    return lost_while_still(channel);
  };
  EXPECT_TRUE(lost(40, 0, 1));
  EXPECT_TRUE(lost(40, 99, 1)) << "of 200 J";
  EXPECT_FALSE(lost(40, 101, 1));
  EXPECT_FALSE(lost(40, 0, 20)) << "ten steps of a coarse one";
  EXPECT_TRUE(lost(40, 0, 19.9));
  EXPECT_FALSE(lost(80, 0, 39));
  EXPECT_TRUE(lost(80, 0, 39, 120)) << "it stood still for longer than its curve tells";
  EXPECT_FALSE(lost(80, 0, 41, 120));
  CheckedChannel never{.name = "counter", .curve = {}, .counts = true, .still = {0, 10}};
  never.curve.add(0, 10, 0);
  EXPECT_FALSE(lost_while_still(never)) << "nothing says what it should have told";
}

/// A meter of power that is known in between, second by second.
CheckedChannel known_channel(const std::string& name, double from_s, double to_s,
                             const std::function<double(double)>& watts) {
  CheckedChannel channel{.name = name, .curve = {}};
  for (double t = from_s; t < to_s; ++t) channel.curve.add(t, t + 1, watts(t));
  return channel;
}

double eighty_watts(double) {
  return 80;
}

TEST(CheckMeters, PartsAreSummedWhileAllAreKnown) {
  const auto rising = [](double t) { return 30 + std::fmod(7 * t, 20); };
  const CheckedChannel a = known_channel("a", 0, 60, rising), b = known_channel("b", 6, 54, eighty_watts),
                       whole = known_channel("wall", 0, 60, [&](double t) { return 2 * rising(t) + 160; });
  const MeterCheck check = check_meters({a, b}, {whole}, Relation::kMachine, 0, 61);
  EXPECT_EQ(check.first, "a + b");
  EXPECT_EQ(check.second, "wall");
  EXPECT_TRUE(check.nested);
  EXPECT_NEAR(check.ratio.value_or(0), 0.5, 1e-9);
  EXPECT_EQ(check.windows, 48);
  EXPECT_EQ(check.agreement, Agreement::kAgree);
  EXPECT_EQ(check.reason, "b told nothing in the first 6.0 s; b told nothing in the last 7.0 s");
  const MeterCheck none = check_meters({a, {.name = "c", .curve = {}}}, {whole}, Relation::kMachine, 0, 60);
  EXPECT_EQ(none.reason, "c told nothing");
  EXPECT_EQ(none.windows, 0);
  EXPECT_EQ(check_meters({a}, {{.name = "d", .curve = {}}}, Relation::kSame, 0, 66).reason,
            "a told nothing in the last 6.0 s; d told nothing");
}

TEST(CheckMeters, WindowsAreLongEnoughForWhatIsSlowestAndCoarsest) {
  const auto windows = [](double period_s, double step_j, double run_s) {
    CheckedChannel first = known_channel("a", 0, run_s, eighty_watts), second = first;
    first.period_s = period_s;
    second.step_j = step_j;
    const MeterCheck check = check_meters({first}, {second}, Relation::kSame, 0, run_s);
    return std::pair(check.window_s, check.windows);
  };
  EXPECT_EQ(windows(0, 0, 60), std::pair(1.0, std::int64_t{60}));
  EXPECT_EQ(windows(3, 0, 200), std::pair(6.0, std::int64_t{33})) << "two periods";
  EXPECT_EQ(windows(0, 40, 200), std::pair(5.0, std::int64_t{40})) << "ten steps of 40 J at 80 W";
  EXPECT_EQ(windows(0, 0, 1000), std::pair(5.0, std::int64_t{200})) << "no more than 200";
}

TEST(CheckMeters, WhatALevelPowerCantTellApartIsSaid) {
  const CheckedChannel right = known_channel("b", 0, 60, eighty_watts);
  const auto check = [&](Relation relation, const auto& watts) {
    return check_meters({known_channel("a", 0, 60, watts)}, {right}, relation, 0, 60);
  };
  const MeterCheck gain = check(Relation::kSame, [](double) { return 100.0; });
  EXPECT_EQ(gain.fault, MeterFault::kGain);
  EXPECT_EQ(gain.reason, "a tells 1.25 times what b does; these windows do not tell that from +20 W");
  EXPECT_EQ(gain.offset_watts, std::nullopt) << "the power did not vary enough for it";
  // Each third value is low, so that the median is above and its interval is not.
  const auto above = [](double by, double below) {
    return [=](double t) { return 80 * (std::fmod(7 * t, 12) < 5 ? below : by); };
  };
  const MeterCheck same = check(Relation::kSame, above(1.07, 1.04));
  EXPECT_EQ(same.agreement, Agreement::kUndecided) << same.reason;
  EXPECT_EQ(same.reason, "the ratio's interval reaches from 1.04 to 1.07");
  EXPECT_EQ(check(Relation::kSame, above(1.04, 1.03)).agreement, Agreement::kAgree);
  EXPECT_EQ(check(Relation::kSame, above(0.94, 0.93)).agreement, Agreement::kDisagree);
  const MeterCheck part = check(Relation::kMachine, above(1.02, 0.99));
  EXPECT_EQ(part.agreement, Agreement::kUndecided);
  EXPECT_EQ(part.reason, "the part may be above its whole");
}

}  // namespace
}  // namespace evener::measure
