// How often a sensor's value changes is found by reading it, windows that are too short for that are refused, and a
// counter is held against its device's own power.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "measure/energy_meter.h"
#include "measure/sensors_helpers.h"

namespace evener::measure {
namespace {

using record::Covers;
using record::DeviceEnergy;
using test::MadeUpSensor;
using test::TurnedClock;
using testing::HasSubstr;

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
