// Rules of the meter for what seldom happens: readings out of order, looks that take their time, several devices at
// once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "measure/energy_meter.h"
#include "measure/sensors_helpers.h"

namespace evener::measure {
namespace {

using test::MadeUpSensor;
using test::TurnedClock;
using testing::HasSubstr;

Reading counted(double joules, double joules_per_count = 1e-3) {
  return {.count = static_cast<std::uint64_t>(std::llround(joules / joules_per_count))};
}

/// A package that draws so much, whose counter's steps are known.
std::unique_ptr<MadeUpSensor> drawing(TurnedClock& clock, const Channel& channel, double watts,
                                      const std::string& sensor = "made up") {
  Channel counting = channel;
  counting.joules_per_count = 1e-3;
  const double begin_s = clock.now();
  return std::make_unique<MadeUpSensor>(
      sensor, std::vector{counting},
      [=, read = clock.reader()]() -> std::vector<Reading> { return {counted(watts * (read() - begin_s))}; });
}

TEST(EnergyRules, APowerThatIsNotNewerIsNothingNew) {
  TurnedClock clock;
  struct Power {
    double at_s = 0, watts = 0;
  };
  const std::vector<Power> said = {{0, 100}, {4, 100}, {4, 900}, {3, 500}, {10, 100}};
  const double begin_s = clock.now();
  std::size_t n = 0;
  EnergyMeter meter(
      test::only(std::make_unique<MadeUpSensor>(
          "meter", std::vector<Channel>{{.name = "wall", .covers = record::Covers::kMachine, .step_s = 2}},
          [&]() -> std::vector<Reading> {
            const auto& power = said[std::min(n++, said.size() - 1)];
            return {{.watts = power.watts, .at_s = begin_s + power.at_s}};
          })),
      clock.reader());
  for (const double turn : {0.0, 4.0, 0.5, 0.5, 5.0}) {
    clock.turn(turn);
    meter.poll();
  }
  EXPECT_NEAR(meter.energy(10).joules.value_or(0), 1000, 1e-6) << meter.energy(10).reason;
}

TEST(EnergyRules, AnAnswerFromTheFutureIsOfNow) {
  TurnedClock clock;
  EnergyMeter meter(
      test::only(std::make_unique<MadeUpSensor>(
          "meter", std::vector<Channel>{{.name = "wall", .covers = record::Covers::kMachine, .step_s = 1}},
          [&]() -> std::vector<Reading> { return {{.watts = 100, .at_s = clock.now() + 50}}; })),
      clock.reader());
  for (int n = 0; n <= 10; ++n) {
    meter.poll();
    clock.turn(1);
  }
  EXPECT_NEAR(meter.energy(10).joules.value_or(0), 1000, 1e-6);
  EXPECT_NEAR(meter.energy(10).uncertainty_joules.value_or(1), 0, 1e-6) << "nothing was held";
}

/// A look that waits for a meter takes its time: what that counts meanwhile, at both ends, is no part of the window.
TEST(EnergyRules, ALookThatWaitsDoesNotMoveTheEnds) {
  TurnedClock clock;
  const double begin_s = clock.now();
  Sensors sensors = test::only(drawing(clock, {.name = "package-0", .step_j = 1e-3}, 40));
  sensors.push_back(std::make_unique<MadeUpSensor>(
      "--meter",
      std::vector<Channel>{{.name = "wall", .covers = record::Covers::kMachine, .joules_per_count = 1e-3, .step_s = 1}},
      [&]() -> std::vector<Reading> {
        clock.turn(2);
        Reading reading = counted(100.123 * (clock.now() - begin_s));
        reading.at_s = clock.now();
        return {reading};
      }));
  EnergyMeter meter(std::move(sensors), clock.reader());
  meter.poll();
  for (int n = 0; n < 6; ++n) {
    clock.turn(1.37);
    meter.poll();
  }
  const double window_s = 6 * 3.37;
  EXPECT_NEAR(meter.seconds(), window_s, 1e-9);
  const record::Energy energy = meter.energy(window_s);
  EXPECT_NEAR(energy.joules.value_or(0), 40 * window_s, 0.01);
  EXPECT_NEAR(energy.devices[1].joules.value_or(0), 100.123 * window_s, 0.01) << energy.devices[1].reason;
  EXPECT_NEAR(energy.devices[1].uncertainty_joules.value_or(0), 2 * 2 * 100.123, 1)
      << "two seconds too many at the end don't make up for two that were missed at the start";
}

TEST(EnergyRules, ASumIsAsUncertainAsItsPartsTogether) {
  TurnedClock clock;
  Sensors sensors = test::only(drawing(clock, {.name = "package-0", .step_j = 0.25}, 40));
  sensors.push_back(drawing(clock, {.name = "gpu 0", .covers = record::Covers::kGpu, .step_j = 0.5}, 200));
  sensors.push_back(drawing(clock, {.name = "wall", .covers = record::Covers::kMachine, .step_j = 7}, 300));
  EnergyMeter meter(std::move(sensors), clock.reader());
  meter.poll();
  clock.turn(10);
  meter.poll();
  EXPECT_DOUBLE_EQ(meter.energy(10).uncertainty_joules.value_or(0), 0.75) << "without what is not added";
}

/// A meter that counts finely and tells it every ten seconds is as coarse as what it counts in these.
TEST(EnergyRules, AMeterThatTellsItsCountSeldomIsCoarse) {
  TurnedClock clock;
  const double begin_s = clock.now();
  EnergyMeter meter(
      test::only(std::make_unique<MadeUpSensor>(
          "--meter",
          std::vector<Channel>{
              {.name = "wall", .covers = record::Covers::kMachine, .joules_per_count = 1e-3, .step_s = 1}},
          [&]() -> std::vector<Reading> {
            const double told_s = 10 * std::floor((clock.now() - begin_s) / 10 + 1e-9);
            return {counted(1.017 + 60 * told_s + 0.05 * told_s * told_s)};
          })),
      clock.reader());
  for (int n = 0; n <= 230; ++n) {
    meter.poll();
    if (n < 230) clock.turn(1);
  }
  const record::Energy energy = meter.energy(230);
  ASSERT_TRUE(energy.joules.has_value()) << energy.reason;
  // The largest is the last one, from 220 to 230 s.
  EXPECT_NEAR(energy.uncertainty_joules.value_or(0), 600 + 0.05 * (230 * 230 - 220 * 220), 1);
}

TEST(EnergyRules, PhasesDivideWhatIsAddedAndNoMore) {
  TurnedClock clock;
  Sensors sensors = test::only(drawing(clock, {.name = "package-0", .step_j = 1e-3, .step_s = 0.001}, 40));
  sensors.push_back(
      drawing(clock, {.name = "gpu 0", .covers = record::Covers::kGpu, .step_j = 1e-3, .step_s = 0.1}, 200));
  sensors.push_back(
      drawing(clock, {.name = "wall", .covers = record::Covers::kMachine, .step_j = 1e-3, .step_s = 2}, 300));
  EnergyMeter meter(std::move(sensors), clock.reader());
  PhaseTotals totals;
  meter.poll(0, {}, &totals);
  clock.turn(10);
  totals.critical[static_cast<std::size_t>(Phase::kForward)] = {6'000'000'000, 10};  // 0.6 s each
  totals.critical[static_cast<std::size_t>(Phase::kRead)] = {4'000'000'000, 2};      // 2 s
  meter.poll(0, {}, &totals);
  std::map<std::string, record::PhaseEnergy> phases;
  for (const record::PhaseEnergy& phase : meter.energy(10).phases) phases[phase.phase] = phase;
  EXPECT_NEAR(phases["forward"].joules, 6 * 240, 0.01);
  EXPECT_NEAR(phases["read"].joules, 4 * 240, 0.01);
  EXPECT_TRUE(phases["forward"].short_marks) << "ten steps of the slower counter are a second";
  EXPECT_FALSE(phases["read"].short_marks);
  EXPECT_EQ(phases["forward"].kind, record::EnergyClass::kDerived);
}

TEST(EnergyRules, PhasesOfAnEstimateAreEstimates) {
  TurnedClock clock;
  EnergyMeter meter(test::only(drawing(clock, {.name = "cpu (stated)", .kind = record::EnergyClass::kEstimated}, 65)),
                    clock.reader());
  PhaseTotals totals;
  meter.poll(0, {}, &totals);
  clock.turn(10);
  totals.critical[static_cast<std::size_t>(Phase::kForward)] = {6'000'000'000, 10};
  meter.poll(0, {}, &totals);
  const record::Energy energy = meter.energy(10);
  for (const record::PhaseEnergy& phase : energy.phases) EXPECT_EQ(phase.kind, record::EnergyClass::kEstimated);
  EXPECT_EQ(energy.uncertainty_joules, std::nullopt) << "an estimate has no counter";
}

TEST(EnergyRules, TheFirstProblemIsTheReason) {
  TurnedClock clock;
  int look = 0;
  EnergyMeter meter(test::only(std::make_unique<MadeUpSensor>(
                        "meter", std::vector<Channel>{{.name = "package-0", .joules_per_count = 1}},
                        [&]() -> std::vector<Reading> {
                          if (look == 0) return {counted(++look, 1)};
                          return {{.problem = "problem " + std::to_string(look++)}};
                        })),
                    clock.reader());
  for (int n = 0; n < 4; ++n) {
    meter.poll();
    clock.turn(1);
  }
  EXPECT_THAT(meter.energy(3).reason, HasSubstr("problem 1"));
  EXPECT_EQ(meter.joules_so_far(), std::nullopt);
}

TEST(EnergyRules, AMissingRightIsToldBeforeWhatIsNotThere) {
  class Refused final : public EnergySensor {
   public:
    Refused(const std::string& why, const std::string& remedy) { refuse(why, remedy); }
    std::string name() const override { return "refused"; }
    std::vector<Reading> read(double /*wait_s*/) override { return {}; }
  };
  Sensors sensors = test::only(std::make_unique<Refused>("there is none", ""));
  sensors.push_back(std::make_unique<Refused>("no right to read it", "ask for it"));
  EXPECT_EQ(EnergyMeter(std::move(sensors)).refusal(), "no right to read it: ask for it");
}

TEST(EnergyRules, APeakIsNotSeenInALookThatFollowsSoon) {
  TurnedClock clock;
  double joules = 0;
  EnergyMeter meter(
      test::only(std::make_unique<MadeUpSensor>(
          "made up",
          std::vector<Channel>{{.name = "package-0", .joules_per_count = 1e-3, .step_j = 1e-3, .step_s = 0.1}},
          [&]() -> std::vector<Reading> { return {counted(joules)}; })),
      clock.reader());
  for (const auto& [turn_s, used_j] : {std::pair{0.0, 0.0}, {5, 300}, {2, 160}, {0.01, 8}, {5, 350}}) {
    clock.turn(turn_s);
    joules += used_j;
    meter.poll();
  }
  EXPECT_NEAR(meter.energy(12.01).devices[0].peak_watts.value_or(0), 80, 1e-6) << "8 J in 10 ms are steps, no 800 W";
  EXPECT_NEAR(meter.meters()[0].watts().value_or(0), 70, 1e-6);
  EXPECT_NEAR(meter.energy(12.01).devices[0].mean_watts.value_or(0), 818 / 12.01, 1e-6);
}

TEST(IdlePower, BelongsToTheChannelOfItsSensor) {
  TurnedClock clock;
  Sensors sensors =
      test::only(drawing(clock, {.name = "meter", .covers = record::Covers::kGpu, .step_j = 1e-3}, 50, "a"));
  sensors.push_back(drawing(clock, {.name = "meter", .covers = record::Covers::kGpu, .step_j = 1e-3}, 80, "b"));
  EnergyMeter meter(std::move(sensors), clock.reader());
  meter.poll();
  clock.turn(10);
  meter.poll();
  const IdlePower idle{.channels = {{"a", "meter", 12}, {"b", "meter", 31}},
                       .watts = 43,
                       .interval = record::Interval{40, 47},
                       .seconds = 20};
  const record::Energy energy = meter.energy(10, idle);
  EXPECT_NEAR(energy.devices[0].net_joules.value_or(0), 380, 0.01);
  EXPECT_NEAR(energy.devices[1].net_joules.value_or(0), 490, 0.01);
  EXPECT_EQ(energy.devices[1].idle_watts, 31);
  EXPECT_NEAR(energy.net_joules.value_or(0), 870, 0.01);
  EXPECT_NEAR(energy.net_interval->low, 1300 - 470, 0.01);
  EXPECT_NEAR(energy.net_interval->high, 1300 - 400, 0.01);
  EXPECT_EQ(energy.idle.watts, 43);
  EXPECT_EQ(energy.idle.interval, (record::Interval{40, 47}));
  EXPECT_EQ(energy.idle.seconds, 20);
}

/// Ten parts whose powers are given: the interval is that of Student's t, worked out here. Each look takes a fifth
/// longer than it was asked for.
TEST(IdlePower, HasTheIntervalOfStudentsTOverTheTimeThatItTook) {
  const double watts[] = {20, 23, 19, 24, 21, 22, 18, 25, 26, 17};
  TurnedClock clock;
  const double begin_s = clock.now();
  EnergyMeter meter(
      test::only(std::make_unique<MadeUpSensor>(
          "made up", std::vector<Channel>{{.name = "package-0", .joules_per_count = 1e-3, .step_j = 1e-3}},
          [&]() -> std::vector<Reading> {
            double joules = 0;
            for (int part = 0; part < 10; ++part) {
              joules += watts[part] * std::clamp(clock.now() - begin_s - 1.2 * part, 0.0, 1.2);
            }
            return {counted(joules)};
          })),
      clock.reader());
  const IdlePower idle = measure_idle(meter, 10, 0.5, [&](double s) { clock.turn(1.2 * s); });
  double mean = 0, squares = 0;
  for (const double w : watts) mean += w / 10;
  for (const double w : watts) squares += (w - mean) * (w - mean);
  const double half = 2.262157 * std::sqrt(squares / 9) / std::sqrt(10.0);  // t of 0.975 with 9 degrees of freedom
  EXPECT_NEAR(idle.seconds, 12, 1e-9);
  EXPECT_NEAR(idle.watts.value_or(0), mean, 1e-3);
  ASSERT_EQ(idle.channels.size(), 1u);
  EXPECT_NEAR(idle.channels[0].watts, mean, 1e-3);
  ASSERT_TRUE(idle.interval.has_value());
  EXPECT_NEAR(idle.interval->low, mean - half, 1e-3);
  EXPECT_NEAR(idle.interval->high, mean + half, 1e-3);
}

}  // namespace
}  // namespace evener::measure
