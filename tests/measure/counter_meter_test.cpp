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

}  // namespace
}  // namespace evener::measure
