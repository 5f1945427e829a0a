// Meters of users that count energy, beside the truth: a machine whose power is known for all times, so that its joules
// are known by arithmetic, looked at through a meter that rounds, is late, falls silent or stands still.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "measure/energy_meter.h"
#include "measure/sensors_helpers.h"
#include "record/record.h"
#include "record/validity.h"

namespace evener::measure {
namespace {

using record::Covers;
using record::DeviceEnergy;
using test::MadeUpSensor;
using test::TurnedClock;
using testing::AllOf;
using testing::HasSubstr;

constexpr double kLook_s = 0.5;

/// What of a meter is not as it should be. Times are seconds since it was made.
struct Flaws {
  double step_j = 1e-3;        // what it counts in
  double offset_j = 0;         // what stood on it
  double answers_every_s = 0;  // 0: whenever it is asked
  double silent_from_s = 1e9, silent_to_s = 1e9;
  double still_from_s = 1e9;  // it answers, and counts no more
};

/// A meter at the socket that counts `joules`(seconds). Where it is asked with a wait it answers at once.
class CountingMeter final : public EnergySensor {
 public:
  CountingMeter(std::function<double()> now_s, std::function<double(double)> joules, const Flaws& flaws,
                double joules_per_count = 1e-3)
      : now_s_(std::move(now_s)), joules_(std::move(joules)), flaws_(flaws), begin_s_(now_s_()) {
    channels_.push_back(
        {.name = "wall", .covers = record::Covers::kMachine, .joules_per_count = joules_per_count, .step_s = 1});
  }
  std::string name() const override { return "--meter"; }
  std::vector<Reading> read(double wait_s) override {
    const double at_s = now_s_() - begin_s_;
    if (at_s >= flaws_.silent_from_s && at_s < flaws_.silent_to_s) return {{.error = "it did not answer"}};
    if (at_s < due_s_ && wait_s < 1) return {Reading{}};
    due_s_ = at_s + flaws_.answers_every_s;
    const double counted_j = flaws_.offset_j + joules_(std::min(at_s, flaws_.still_from_s));
    const double shown_j = std::floor(counted_j / flaws_.step_j + 1e-9) * flaws_.step_j;
    return {
        {.count = static_cast<std::uint64_t>(std::llround(shown_j / channels_[0].joules_per_count)), .at_s = now_s_()}};
  }

 private:
  const std::function<double()> now_s_;
  const std::function<double(double)> joules_;
  const Flaws flaws_;
  const double begin_s_;
  double due_s_ = 0;
};

/// Follows the meter for so long, with a look each half second and one that waits at the end, as the sampler does it.
record::Energy followed(const std::function<double(double)>& joules, const Flaws& flaws, double seconds,
                        double wait_at_end_s = 2) {
  TurnedClock clock;
  EnergyMeter meter(test::only(std::make_unique<CountingMeter>(clock.reader(), joules, flaws)), clock.reader());
  const double begin_s = clock.now();
  meter.poll(2);
  while (clock.now() - begin_s < seconds - 1e-9) {
    clock.turn(std::min(kLook_s, seconds - (clock.now() - begin_s)));
    meter.poll(clock.now() - begin_s < seconds - 1e-9 ? 0 : wait_at_end_s);
  }
  return meter.energy(seconds);
}

double hundred_watts(double t) {
  return 100 * t;
}

TEST(CountingMeter, OneThatStopsHalfWayLeavesNoEnergyAndAnInvalidRun) {
  // 3758 J, of which it saw 350.
  const record::Energy energy = followed(hundred_watts, {.silent_from_s = 3.6}, 37.58);
  EXPECT_EQ(energy.joules, std::nullopt);
  EXPECT_EQ(energy.kind, record::EnergyClass::kAbsent);
  EXPECT_THAT(energy.reason, AllOf(HasSubstr("INVALID"), HasSubstr("said nothing for 34.1 of 37.6 s"),
                                   HasSubstr("it did not answer")));
  ASSERT_EQ(energy.lost.size(), 1u);
  EXPECT_THAT(energy.lost[0], HasSubstr("wall (--meter)"));
  record::Record record;
  record.energy = energy;
  const record::Validity validity = judge(record, {});
  EXPECT_TRUE(std::ranges::any_of(validity.reasons, [](const auto& reason) { return reason.rule == "energy"; }));
}

TEST(CountingMeter, OneThatGoesOnAnsweringTheSameLeavesNoEnergy) {
  const record::Energy energy = followed(hundred_watts, {.still_from_s = 13.5}, 37.58);
  EXPECT_EQ(energy.joules, std::nullopt);
  EXPECT_THAT(energy.reason, AllOf(HasSubstr("INVALID"), HasSubstr("stood still in the last 24.1 s")));
  EXPECT_EQ(energy.lost.size(), 1u);
}

TEST(CountingMeter, OneThatAnswersLateAtTheStartLeavesNoEnergy) {
  const record::Energy energy = followed(hundred_watts, {.silent_from_s = 0, .silent_to_s = 12}, 30);
  EXPECT_EQ(energy.joules, std::nullopt);
  EXPECT_THAT(energy.reason, HasSubstr("said nothing for 12.0 of 30.0 s"));
  EXPECT_EQ(energy.lost.size(), 1u);
}

TEST(CountingMeter, OneThatWasSilentInTheMiddleHasCountedMeanwhile) {
  const record::Energy energy = followed(hundred_watts, {.silent_from_s = 8, .silent_to_s = 25}, 30);
  EXPECT_NEAR(energy.joules.value_or(0), 3000, 0.01) << energy.reason;
  EXPECT_TRUE(energy.lost.empty());
}

TEST(CountingMeter, OneThatNeverAnswersAfterTheStartIsLost) {
  const record::Energy energy = followed(hundred_watts, {.silent_from_s = 0.1}, 20);
  EXPECT_THAT(energy.reason, HasSubstr("INVALID"));
  EXPECT_EQ(energy.lost.size(), 1u);
  EXPECT_TRUE(followed(hundred_watts, {.silent_from_s = 0}, 20).lost.size() == 1) << "not even once";
}

TEST(CountingMeter, ThousandthsOfAKilowattHourAreTooCoarseForAShortRun) {
  // 444 J, within which the display went on by one: 3600 J.
  const record::Energy moved = followed(hundred_watts, {.step_j = 3600, .offset_j = 100 * 3600 - 200}, 4.44);
  EXPECT_EQ(moved.joules, std::nullopt);
  EXPECT_THAT(moved.reason, AllOf(HasSubstr("INVALID"), HasSubstr("moves by 3600 J at a time")));
  EXPECT_EQ(moved.lost.size(), 1u);
  const record::Energy still = followed(hundred_watts, {.step_j = 3600, .offset_j = 99 * 3600 + 20}, 4.44);
  EXPECT_EQ(still.joules, std::nullopt);
  EXPECT_THAT(still.reason, AllOf(HasSubstr("INVALID"), HasSubstr("did not move in 4.4 s")));
}

/// Energies of the same run through meters whose displays stood elsewhere in their step; the truth is 50 kJ or more.
TEST(CountingMeter, ItsStepsAreToldAsAnUncertaintyThatHoldsTheTruth) {
  const auto busy = [](double t) { return 90 * t + 3000 * std::sin(t / 40) * std::sin(t / 40); };
  for (const double step_j : {360.0, 1125.0, 3600.0}) {
    double worst_j = 0;
    for (int n = 0; n < 12; ++n) {
      const double seconds = 555.3, truth_j = busy(seconds);
      const record::Energy energy = followed(busy, {.step_j = step_j, .offset_j = step_j * (70 + n / 12.0)}, seconds);
      ASSERT_TRUE(energy.joules.has_value()) << energy.reason;
      EXPECT_LE(std::abs(*energy.joules - truth_j), energy.uncertainty_joules.value_or(0));
      EXPECT_NEAR(*energy.uncertainty_joules, step_j, 1) << "and no more than that";
      EXPECT_EQ(energy.devices[0].uncertainty_joules, energy.uncertainty_joules);
      if (step_j > 360) {
        EXPECT_THAT(energy.devices[0].note, HasSubstr("its counter moves by"));
      }
      worst_j = std::max(worst_j, std::abs(*energy.joules - truth_j));
    }
    EXPECT_GT(worst_j, step_j / 3) << "it is needed";
  }
}

TEST(CountingMeter, AFineOneIsExact) {
  const record::Energy energy =
      followed([](double t) { return 60 * t + t * t; }, {.step_j = 0.01, .offset_j = 12345.67}, 20);
  EXPECT_NEAR(energy.joules.value_or(0), 1600, 0.02) << energy.reason;
  EXPECT_NEAR(energy.uncertainty_joules.value_or(0), 0.01, 1e-6);
  EXPECT_EQ(energy.devices[0].note, "");
}

/// Joules end with the last answer, seconds later: what is missing is drawn out with the mean, and uncertain.
TEST(CountingMeter, JoulesAndSecondsAreOfTheSameSpan) {
  for (const double every_s : {0.0, 0.9, 1.9, 2.9, 3.9}) {
    const record::Energy energy = followed(hundred_watts, {.offset_j = 1.234, .answers_every_s = every_s}, 10.4, 0);
    ASSERT_TRUE(energy.joules.has_value()) << energy.reason;
    EXPECT_NEAR(*energy.joules, 1040, 0.1) << every_s;
    EXPECT_NEAR(energy.devices[0].mean_watts.value_or(0), 100, 0.01) << every_s;
  }
  // Answers at 0, 4 and 8 s: 2.4 s at 100 W are not seen.
  const record::Energy energy = followed(hundred_watts, {.answers_every_s = 3.9}, 10.4, 0);
  EXPECT_NEAR(energy.uncertainty_joules.value_or(0), 240, 1);
}

TEST(CountingMeter, IdlePowerIsThatOfTheMachine) {
  for (const double every_s : {0.0, 0.9, 1.9, 2.9, 4.4}) {
    for (const double idle_s : {5.0, 10.0, 15.0}) {
      TurnedClock clock;
      EnergyMeter meter(
          test::only(std::make_unique<CountingMeter>(clock.reader(), hundred_watts, Flaws{.answers_every_s = every_s})),
          clock.reader());
      const IdlePower idle = measure_idle(meter, idle_s, kLook_s, [&](double s) { clock.turn(s); });
      EXPECT_NEAR(idle.watts.value_or(0), 100, 0.01) << every_s << " " << idle_s << " " << idle.reason;
      ASSERT_EQ(idle.channels.size(), 1u);
      EXPECT_NEAR(idle.channels[0].watts, 100, 0.01);
    }
  }
}

/// A power that rises, so that what was held to the end would be too little: the last look waits for an answer.
TEST(CountingMeter, TheEndOfTheIdleTimeIsWaitedFor) {
  TurnedClock clock;
  EnergyMeter meter(test::only(std::make_unique<CountingMeter>(
                        clock.reader(), [](double t) { return 50 * t + 5 * t * t; }, Flaws{.answers_every_s = 3.9})),
                    clock.reader());
  const IdlePower idle = measure_idle(meter, 10, kLook_s, [&](double s) { clock.turn(s); });
  EXPECT_NEAR(idle.watts.value_or(0), 50 + 5 * 10, 0.01);
  EXPECT_NEAR(idle.seconds, 10, 1e-9);
}

TEST(CountingMeter, ACoarseOneTellsNoIdlePower) {
  TurnedClock clock;
  EnergyMeter meter(test::only(std::make_unique<CountingMeter>(clock.reader(), hundred_watts, Flaws{.step_j = 3600})),
                    clock.reader());
  const IdlePower idle = measure_idle(meter, 10, kLook_s, [&](double s) { clock.turn(s); });
  EXPECT_EQ(idle.watts, std::nullopt);
  EXPECT_THAT(idle.reason, HasSubstr("moves by 3600 J at a time")) << "two minutes are too short, too";
}

/// A meter of power that is heard late is as blind at the start as at the end.
TEST(PowerMeter, WhatIsHeardTooLateIsInvalidAndLost) {
  const auto heard_from = [](double from_s) {
    TurnedClock clock;
    const double begin_s = clock.now();
    EnergyMeter meter(
        test::only(std::make_unique<test::MadeUpSensor>(
            "meter", std::vector<Channel>{{.name = "wall", .covers = record::Covers::kMachine, .step_s = 1}},
            [&, begin_s, from_s]() -> std::vector<Reading> {
              if (clock.now() - begin_s < from_s) return {Reading{}};
              return {{.watts = 100}};
            })),
        clock.reader());
    for (int n = 0; n <= 40; ++n) {
      meter.poll();
      if (n < 40) clock.turn(kLook_s);
    }
    return meter.energy(20);
  };
  EXPECT_NEAR(heard_from(0).joules.value_or(0), 2000, 1e-6);
  EXPECT_NEAR(heard_from(2).joules.value_or(0), 2000, 1e-6) << "the first power holds for the two seconds before it";
  EXPECT_NEAR(heard_from(2).uncertainty_joules.value_or(0), 200, 1e-6);
  EXPECT_EQ(heard_from(9).joules, std::nullopt);
  EXPECT_THAT(heard_from(9).reason, HasSubstr("said nothing for 9.0 of 20.0 s"));
  EXPECT_EQ(heard_from(9).lost.size(), 1u);
}

/// A device whose power differs from period to period, and which tells a new value once in each.
struct PeriodicDevice {
  double period_s = 1;
  bool counts = true;

  double told_s(double time_s) const { return period_s * std::floor(time_s / period_s + 1e-6); }
  Reading at(double time_s) const {
    const double told = told_s(time_s), number = std::round(told / period_s);
    if (counts) return {.count = static_cast<std::uint64_t>(std::llround(1e6 * 100 * told))};
    return {.watts = 100 + 10 * std::sin(number)};
  }
};

EnergyMeter periodic_meter(const PeriodicDevice& device, TurnedClock& clock, double assumed_s) {
  const Channel channel{.name = "package-0",
                        .joules_per_count = device.counts ? 1e-6 : 0,
                        .step_j = device.counts ? 1e-6 : 0,
                        .step_s = assumed_s};
  return EnergyMeter(test::only(std::make_unique<MadeUpSensor>(
                         "made up", std::vector{channel},
                         [=, begin_s = clock.now(), now = clock.reader()]() -> std::vector<Reading> {
                           return {device.at(now() - begin_s)};
                         })),
                     clock.reader());
}

DeviceEnergy periodic_device_after(const PeriodicDevice& device, double run_s, double every_s,
                                   double assumed_s = 1e-4) {
  TurnedClock clock;
  EnergyMeter meter = periodic_meter(device, clock, assumed_s);
  meter.poll();
  while (meter.seconds() < run_s - every_s / 2) {
    clock.turn(every_s);
    meter.poll();
  }
  return meter.energy(run_s).devices.at(0);
}

TEST(UpdatePeriod, IsFoundByReading) {
  for (const double period_s : {0.001, 0.1, 1.0, 10.0}) {
    for (const bool counts : {true, false}) {
      const DeviceEnergy device = periodic_device_after({period_s, counts}, std::max(1.0, 20 * period_s), period_s / 4);
      EXPECT_NEAR(device.update_period_s.value_or(0), period_s, 0.05 * period_s) << period_s << " " << counts;
      EXPECT_TRUE(device.joules.has_value()) << device.reason;
    }
  }
}

TEST(UpdatePeriod, IsTheTimeBetweenChangesThatWereSeen) {
  UpdatePeriod period;
  const auto change = [&](double still_s, double moved_s) {
    period.take(false, still_s);
    period.take(true, moved_s);
  };
  period.take(true, 0);
  change(0.5, 1);  // nobody saw when this time began
  change(1.5, 3);
  change(4, 5);
  EXPECT_EQ(period.seconds(false), std::nullopt) << "three changes";
  change(6, 9);
  EXPECT_EQ(period.seconds(false), 2);
  EXPECT_EQ(period.seconds(true), 2) << "4 s are two of them";
  EXPECT_EQ(period.longest().from_s, 3);
  EXPECT_EQ(period.longest().to_s, 4);
  EXPECT_EQ(period.next_longest_s(), 1);
  period.take(false, 15);
  EXPECT_EQ(period.longest().from_s, 9);
  EXPECT_EQ(period.longest().seconds(), 6) << "it still stands";
  EXPECT_EQ(period.next_longest_s(), 1);
  period.take(true, 16);  // 7 s
  EXPECT_EQ(period.longest().seconds(), 6);
  EXPECT_EQ(period.seconds(true), std::nullopt) << "not each time is a multiple of the shortest";
  EXPECT_EQ(period.seconds(false), 3);
  for (int n = 17; n < 23; ++n) period.take(true, n);
  EXPECT_EQ(period.seconds(false), std::nullopt) << "most readings had changed";
}

TEST(UpdatePeriod, IsTheStatedOneWhereEachReadingHadChanged) {
  const DeviceEnergy device = periodic_device_after({0.001, true}, 10, 0.5, 0.002);
  EXPECT_EQ(device.update_period_s, 0.002) << "half a second says nothing of it";
}

TEST(UpdatePeriod, OfAPowerThatFollowsALoadIsNotFound) {
  TurnedClock clock;
  EnergyMeter meter(test::only(std::make_unique<MadeUpSensor>(
                        "made up", std::vector<Channel>{{.name = "wall", .covers = Covers::kMachine, .step_s = 1}},
                        [=, begin_s = clock.now(), now = clock.reader()]() -> std::vector<Reading> {
                          return {{.watts = std::fmod(now() - begin_s, 12) < 7 ? 100.0 : 60.0}};
                        })),
                    clock.reader());
  for (int n = 0; n < 200; ++n) {
    meter.poll();
    clock.turn(0.5);
  }
  EXPECT_EQ(meter.energy(100).devices.at(0).update_period_s, 1);
}

TEST(UpdatePeriod, RefusesAWindowOfTooFewValues) {
  EXPECT_THAT(
      periodic_device_after({10, true}, 80, 0.5).reason,
      HasSubstr("INVALID: a window of 80.0 s is too short for a value that changes each 10 s (at least 100 s)"));
  EXPECT_TRUE(periodic_device_after({10, true}, 110, 0.5).reason.empty());
  EXPECT_THAT(periodic_device_after({10, true}, 9, 0.5).reason,
              HasSubstr("INVALID: its counter did not move in 9.0 s"));
  EXPECT_THAT(periodic_device_after({10, false}, 49, 0.5).reason,
              HasSubstr("INVALID: a window of 49.0 s is too short for a value that changes each 10 s (at least 50 s)"));
  EXPECT_TRUE(periodic_device_after({10, false}, 51, 0.5).reason.empty());
}

TEST(UpdatePeriod, LengthensTheMeasurementOfIdlePower) {
  TurnedClock clock;
  EnergyMeter meter = periodic_meter({6, true}, clock, 0.001);
  const IdlePower idle = measure_idle(meter, 10, 0.5, [&](double seconds) { clock.turn(seconds); });
  EXPECT_NEAR(idle.seconds, 60, 0.6);
  EXPECT_NEAR(idle.watts.value_or(0), 100, 1) << idle.reason;
  EXPECT_TRUE(idle.interval.has_value());
  TurnedClock other;
  EnergyMeter too_slow = periodic_meter({30, true}, other, 0.001);
  const IdlePower refused = measure_idle(too_slow, 10, 0.5, [&](double seconds) { other.turn(seconds); });
  EXPECT_NEAR(refused.seconds, 120, 0.6) << "no longer than that";
  EXPECT_THAT(refused.reason, HasSubstr("too short for a value that changes each 30 s"));
}

/// A card with a counter that comes to so many times its power.
DeviceEnergy counting_card_after(double factor, double run_s, const std::function<double(double)>& power_watts) {
  TurnedClock clock;
  double counted_j = 500, last_s = clock.now();
  const double begin_s = last_s;
  EnergyMeter meter(
      test::only(std::make_unique<MadeUpSensor>(
          "nvml",
          std::vector<Channel>{{.name = "gpu 0",
                                .covers = Covers::kGpu,
                                .joules_per_count = 1e-3,
                                .step_s = 0.1,
                                .note = "Made-up GPU"}},
          [&]() -> std::vector<Reading> {
            const double middle_s = (clock.now() + last_s) / 2 - begin_s;
            counted_j += factor * power_watts(middle_s) * (clock.now() - last_s);
            last_s = clock.now();
            // The mean of the last second, as drivers tell it.
            double told = 0;
            for (int n = 0; n < 10; ++n) told += power_watts(clock.now() - begin_s - 0.1 * n - 0.05) / 10;
            return {{.count = static_cast<std::uint64_t>(std::llround(1e3 * counted_j)), .own_watts = told}};
          })),
      clock.reader());
  meter.poll();
  while (meter.seconds() < run_s - 0.25) {
    clock.turn(0.5);
    meter.poll();
  }
  return meter.energy(run_s).devices.at(0);
}

TEST(OwnPower, ContradictsACounterThatIsOffByMoreThanTwice) {
  const auto after = [](double first_watts, double watts, double counted_j, double gap_s) {
    OwnPower power;
    power.take(first_watts, 1000, 50, 5);
    power.take(watts, 1000 + counted_j, 50 + gap_s, 5);
    return power;
  };
  EXPECT_FALSE(after(100, 100, 60, 0.6).contradicts());
  EXPECT_FALSE(after(100, 100, 31, 0.6).contradicts());
  EXPECT_TRUE(after(100, 100, 29, 0.6).contradicts());
  EXPECT_FALSE(after(100, 100, 119, 0.6).contradicts());
  EXPECT_TRUE(after(100, 100, 121, 0.6).contradicts());
  EXPECT_FALSE(after(100, 100, 1, 0.4).contradicts()) << "too short to tell";
  EXPECT_FALSE(after(100, 100, 1, 1.2).contradicts()) << "between distant readings it may have been another";
  EXPECT_FALSE(after(160, 40, 1, 0.6).contradicts()) << "a power that is the mean of the last second";
  EXPECT_TRUE(after(160, 40, 0, 0.6).contradicts()) << "but no power is nothing";
  EXPECT_FALSE(after(100, 0, 0, 0.6).contradicts());
  OwnPower power = after(100, 40, 42, 0.6);
  EXPECT_NEAR(power.joules(), 42, 1e-9);
  EXPECT_EQ(power.watts(), 40);
  EXPECT_EQ(power.peak_watts(), 100);
  EXPECT_EQ(after(100, 40, 1000, 5.5).joules(), 0) << "nobody knows what was drawn in so long a gap";
  power.take(900, 5000, 50.5, 5);  // an earlier moment
  EXPECT_NEAR(power.joules(), 42, 1e-9);
  EXPECT_EQ(power.peak_watts(), 100);
  power.distrust_counter();
  EXPECT_TRUE(power.contradicts());
  OwnPower none;
  none.distrust_counter();
  EXPECT_FALSE(none.contradicts()) << "there is no power to stand in for it";
}

TEST(OwnPower, ACounterThatAgreesWithItIsTrusted) {
  const auto steady = [](double) { return 200.0; };
  EXPECT_NEAR(counting_card_after(1, 10, steady).joules.value_or(0), 2000, 1);
  EXPECT_NEAR(counting_card_after(0.7, 10, steady).joules.value_or(0), 1400, 1) << "that near they are";
  const auto starts = [](double s) { return s < 0 ? 30.0 : 300.0; };
  const auto ends = [](double s) { return s < 0 ? 300.0 : 30.0; };
  for (const double run_s : {1.0, 2.0, 5.0}) {
    EXPECT_NEAR(counting_card_after(1, run_s, starts).joules.value_or(0), 300 * run_s, 1) << "a mean of a second lags";
    EXPECT_NEAR(counting_card_after(1, run_s, ends).joules.value_or(0), 30 * run_s, 1) << run_s;
  }
}

TEST(OwnPower, StandsInForACounterThatLiesOrStandsStill) {
  const auto steady = [](double) { return 200.0; };
  for (const double factor : {0.0, 0.001, 0.4, 2.5, 1000.0}) {
    const DeviceEnergy card = counting_card_after(factor, 10, steady);
    EXPECT_NEAR(card.joules.value_or(0), 2000, 1) << factor;
    EXPECT_NEAR(card.peak_watts.value_or(0), 200, 1) << factor;
    EXPECT_EQ(card.kind, record::EnergyClass::kMeasured);
    EXPECT_THAT(card.note, HasSubstr("Made-up GPU; its energy counter came to ")) << factor;
    EXPECT_THAT(card.note, HasSubstr("which its power contradicts: energy is its power, summed over time")) << factor;
  }
}

}  // namespace

}  // namespace evener::measure
