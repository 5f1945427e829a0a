// Choices by energy, energy x time, cost, deadline and budget, on made-up machines whose best way is known by
// arithmetic.
#include "train/placements/goal.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "train/made_up_machine.h"
#include "train/placements/planner.h"

namespace evener::training {
namespace {

using test::machine_of;
using test::MadeUpProbe;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr double kBatch = 32, kNoise = 0.02;

Work work_of_thousand() {
  Work work;
  work.train_images = 32 * 32;
  work.batch = kBatch;
  work.memory_bytes = [](const placement::Plan&) { return 1e6; };
  return work;
}

Comparison compare_all(MadeUpProbe& probe, const Goal& goal, const std::string& list = "cpu/t1,cpu/t2,cpu/t4,4xcpu/t1",
                       const std::vector<std::optional<Precision>>& precisions = {std::nullopt}) {
  const auto machine = machine_of(4);
  std::vector<Candidate> candidates;
  for (const auto& text : placements_of(list, machine)) candidates.push_back(resolve(text, machine, {}));
  return compare(in_precisions(candidates, precisions), work_of_thousand(), probe, 60, goal, [](const std::string&) {});
}

/// A machine with random speeds and powers of its ways, measured with random noise.
struct RandomMachine {
  explicit RandomMachine(std::uint64_t number) : random(1, Purpose::kSynthetic, number) {
    for (const char* text : {"cpu/t1", "cpu/t2", "cpu/t4", "4xcpu/t1"}) {
      image_s[text] = random.uniform(0.001, 0.003);
      watts[text] = random.uniform(20, 60);
      probe.steps[text] = {0, image_s[text]};
      probe.watts[text] = watts[text];
    }
    probe.disturbance = [this] { return 1 + kNoise * random.normal(); };
  }

  /// What an image takes by the objective.
  double value(const std::string& text, const Goal& goal) const {
    const double s = image_s.at(text), joules = watts.at(text) * s;
    switch (goal.objective) {
      case Objective::kTime:
        return s;
      case Objective::kEnergy:
        return joules;
      case Objective::kEdp:
        return joules * s;
      case Objective::kCost:
        break;
    }
    return goal.price.per_hour * s / 3600 + goal.price.per_kwh * joules / 3.6e6;
  }

  bool keeps(const std::string& text, const Goal& goal) const {
    const double job_s = goal.epochs * 32 * 32 * image_s.at(text);
    return (!goal.deadline_s || job_s <= *goal.deadline_s) &&
           (!goal.budget_j || job_s * watts.at(text) <= *goal.budget_j);
  }

  Random random;
  std::map<std::string, double> image_s, watts;
  MadeUpProbe probe;
};

/// Of 100 random machines: whenever a choice is decided it is right, and it is decided whenever the gap is clear. What
/// is taken keeps to the limits in truth, and where much would keep to them something is taken.
void expect_right_choices(const Goal& goal) {
  int decided = 0, wrong = 0, timid = 0, beyond = 0, refused = 0;
  for (std::uint64_t number = 0; number < 100; ++number) {
    RandomMachine machine(number);
    const Comparison comparison = compare_all(machine.probe, goal);
    std::vector<std::string> keeping;
    for (const auto& [text, s] : machine.image_s) {
      if (machine.keeps(text, goal)) keeping.push_back(text);
    }
    beyond += comparison.best && !machine.keeps(comparison.rows[*comparison.best].text, goal) ? 1 : 0;
    refused += keeping.size() > 3 && !comparison.best ? 1 : 0;
    if (keeping.empty()) {
      decided += comparison.decided ? 1 : 0;
      wrong += comparison.decided ? 1 : 0;
      continue;
    }
    std::ranges::sort(keeping, {}, [&](const std::string& text) { return machine.value(text, goal); });
    const bool right = comparison.rows[*comparison.best].text == keeping[0];
    decided += comparison.decided ? 1 : 0;
    wrong += comparison.decided && !right ? 1 : 0;
    const bool limited = goal.deadline_s || goal.budget_j;
    const bool clear = !limited && machine.value(keeping[1], goal) > 1.1 * machine.value(keeping[0], goal);
    timid += clear && !(comparison.decided && right) ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0) << "decided and wrong";
  EXPECT_EQ(timid, 0) << "clear and undecided, or wrong";
  EXPECT_LE(beyond, 2) << "trained beyond a limit";
  EXPECT_EQ(refused, 0) << "not trained though a limit was wide";
  EXPECT_GE(decided, 50);
  EXPECT_LE(decided, 99) << "some gaps are smaller than the noise";
}

TEST(Goals, ChoicesAreRightOnRandomMachines) {
  for (const Goal& goal :
       {Goal{.objective = Objective::kTime}, Goal{.objective = Objective::kEnergy}, Goal{.objective = Objective::kEdp},
        Goal{.objective = Objective::kCost, .price = {.per_kwh = 0.3, .per_hour = 0.01}},
        Goal{.objective = Objective::kEnergy, .epochs = 10, .deadline_s = 10 * 32 * 32 * 0.0017},
        Goal{.objective = Objective::kTime, .epochs = 10, .budget_j = 10 * 32 * 32 * 0.07}}) {
    SCOPED_TRACE(objective_name(goal.objective));
    expect_right_choices(goal);
  }
}

TEST(Goals, IntervalsOfTimeAndEnergyHoldTheTruth) {
  int rows = 0, times = 0, energies = 0;
  for (std::uint64_t number = 0; number < 100; ++number) {
    RandomMachine machine(number);
    for (const Row& row : compare_all(machine.probe, {.objective = Objective::kEnergy}).rows) {
      ++rows;
      const Judged time = *judge(row, {}), energy = *judge(row, {.objective = Objective::kEnergy});
      const auto holds = [](const Judged& judged, double truth) {
        return std::abs(truth - judged.value) <= judged.value * judged.noise.value();
      };
      times += holds(time, machine.image_s[row.text]) ? 1 : 0;
      energies += holds(energy, machine.image_s[row.text] * machine.watts[row.text]) ? 1 : 0;
    }
  }
  EXPECT_GE(times, 0.93 * rows);
  EXPECT_GE(energies, 0.93 * rows);
}

/// One thread draws little and is slow; four draw much and are fast.
MadeUpProbe frugal_and_fast() {
  MadeUpProbe probe;
  probe.steps = {{"cpu/t1", {0, 0.004}}, {"cpu/t4", {0, 0.001}}, {"4xcpu/t1", {0, 0.0011}}, {"cpu/t2", {0, 0.002}}};
  probe.watts = {{"cpu/t1", 10}, {"cpu/t2", 25}, {"cpu/t4", 60}, {"4xcpu/t1", 70}};
  return probe;
}

TEST(Goals, SayWhatTheChoiceTakesAndWhatOthersTake) {
  MadeUpProbe probe = frugal_and_fast();
  const Comparison comparison = compare_all(probe, {.objective = Objective::kEnergy});
  EXPECT_EQ(comparison.reason, "cpu/t1 is the most frugal, 40 mJ an image, where cpu/t2 takes 1.25 times as much");
  EXPECT_TRUE(comparison.decided);
  EXPECT_THAT(compare_all(probe, {.objective = Objective::kEdp}).reason, HasSubstr("is the best by energy x time"));
  EXPECT_THAT(compare_all(probe, {.objective = Objective::kCost, .price = {.per_hour = 1}}).reason,
              HasSubstr("cpu/t4 is the cheapest"));
}

TEST(Goals, RowsThatNothingBeatsAreTold) {
  MadeUpProbe probe = frugal_and_fast();
  const Comparison comparison = compare_all(probe, {});
  const auto beaten = beaten_by(comparison.rows);
  for (std::size_t i = 0; i < beaten.size(); ++i) {
    const bool is_beaten = comparison.rows[i].text == "4xcpu/t1";
    EXPECT_EQ(beaten[i].has_value(), is_beaten) << comparison.rows[i].text;
    if (is_beaten) {
      EXPECT_EQ(comparison.rows[beaten[i].value()].text, "cpu/t4");
    }
  }
}

// One block of five lasts six times as long: the median doesn't see it, and the whole is twice as slow.
TEST(Goals, WhatAMedianDoesNotSeeCountsAsNoise) {
  MadeUpProbe probe = frugal_and_fast();
  int block = 0;
  probe.disturbance = [&block] { return ++block % 5 == 0 ? 6.0 : 1.0; };
  const Comparison uneven = compare_all(probe, {}, "cpu/t4");
  EXPECT_GT(uneven.rows[0].noise.value(), 0.7);
  probe.disturbance = [] { return 1.0; };
  EXPECT_LT(compare_all(probe, {}, "cpu/t4").rows[0].noise.value(), 0.1);
}

TEST(Goals, ADeadlineLeavesOutWhatIsTooSlow) {
  MadeUpProbe probe = frugal_and_fast();
  const Goal goal{.objective = Objective::kEnergy, .epochs = 10, .deadline_s = 25};
  const Comparison comparison = compare_all(probe, goal);
  EXPECT_TRUE(comparison.within_limits);
  EXPECT_THAT(comparison.reason, AllOf(HasSubstr("of what ends within 25.0 s: cpu/t2 is the most frugal"),
                                       HasSubstr("20.5 s for 10 epochs")));
}

TEST(Goals, WhatMayMissTheDeadlineIsNotTakenButTold) {
  MadeUpProbe probe = frugal_and_fast();
  probe.noise = 0.1;
  const Comparison comparison = compare_all(probe, {.objective = Objective::kEnergy, .epochs = 10, .deadline_s = 20.6});
  EXPECT_THAT(comparison.reason, AllOf(HasSubstr("cpu/t4 is the most frugal"),
                                       HasSubstr("; cpu/t2 would be more frugal with 20.5 s, which may keep to it")));
  EXPECT_FALSE(comparison.decided);
}

TEST(Goals, WhereNothingKeepsToALimitTheNearestIsTold) {
  MadeUpProbe probe = frugal_and_fast();
  const Comparison late = compare_all(probe, {.objective = Objective::kEnergy, .epochs = 100, .deadline_s = 60});
  EXPECT_FALSE(late.within_limits);
  EXPECT_EQ(late.reason, "nothing ends within 1 min 00 s: the nearest is cpu/t4 with 1 min 42 s");
  const Comparison dear = compare_all(probe, {.epochs = 10, .budget_j = 36});
  EXPECT_FALSE(dear.within_limits);
  EXPECT_THAT(dear.reason, HasSubstr("nothing stays below 0.01 Wh: the nearest is cpu/t1 with 0.114 Wh"));
}

// Whatever the measured values are: what doesn't surely keep to a limit is not taken.
TEST(Goals, WhatNoiseLeavesOpenIsNotTakenAndIsNotSaidToBePossible) {
  struct Case {
    double noise, deadline_s;
    bool is_within;
    const char* told;
  };
  const std::vector<Case> cases = {
      {0.1, 1.2, true, "of what ends within 1.2 s"},
      {0.3, 1.1, false, "nothing surely ends within 1.1 s: the nearest is cpu/t4 with 1.0 s, which may keep to it"},
      {0.3, 0.5, false, "nothing ends within 500 ms: the nearest is cpu/t4 with 1.0 s"},
      {2.4, 0.17, false,
       "nothing surely ends within 170 ms: the nearest is cpu/t4 with 1.0 s, of which the noise of +-"},
      {2.4, 20, true, "of what ends within 20.0 s"}};
  for (const Case& each : cases) {
    MadeUpProbe probe = frugal_and_fast();
    probe.noise = each.noise;
    const Comparison comparison =
        compare_all(probe, {.objective = Objective::kTime, .deadline_s = each.deadline_s}, "cpu/t4");
    EXPECT_EQ(comparison.within_limits, each.is_within) << comparison.reason;
    EXPECT_EQ(comparison.best.has_value(), each.is_within) << comparison.reason;
    EXPECT_THAT(comparison.reason, HasSubstr(each.told));
    EXPECT_EQ(comparison.reason.find("may keep") != std::string::npos, each.noise == 0.3 && each.deadline_s > 1);
  }
}

// 6 times the budget, with a power that is known to +-150 %.
TEST(Goals, OfAnUncertainPowerABudgetTellsNothing) {
  Row row;
  row.text = "cpu/t1";
  row.images_per_s = 100, row.train_s = 10, row.noise = 0.1;
  row.power = Row::Power{.watts = 60, .used_watts = 60, .noise = 1.5};
  for (const double budget_j : {100.0, 500.0}) {
    const RowChoice choice = choose({row}, {.budget_j = budget_j});
    EXPECT_FALSE(choice.within_limits);
    EXPECT_THAT(choice.reason, AllOf(HasSubstr("nothing surely stays below"),
                                     HasSubstr("noise of +-150 % tells nothing"), Not(HasSubstr("may"))));
  }
  EXPECT_TRUE(choose({row}, {.budget_j = 2000}).within_limits);
}

TEST(Goals, WhatDrawsNobodyKnowsHowMuchKeepsToNoBudget) {
  MadeUpProbe probe = frugal_and_fast();
  probe.watts.erase("cpu/t4");  // the fastest, and nothing else has as many threads to derive its power from
  const Comparison comparison = compare_all(probe, {.epochs = 10, .budget_j = 1e6}, "cpu/t1,cpu/t2,cpu/t4");
  EXPECT_EQ(comparison.rows[*comparison.best].text, "cpu/t2") << comparison.reason;
  EXPECT_TRUE(comparison.within_limits);
  const Comparison none = compare_all(probe, {.epochs = 10, .budget_j = 36}, "cpu/t1,cpu/t2,cpu/t4");
  EXPECT_THAT(none.reason, HasSubstr("the nearest is cpu/t1 with"));
}

TEST(Goals, WithoutPowersTimeDecidesAndThatIsSaid) {
  MadeUpProbe probe = frugal_and_fast();
  probe.watts.clear();
  const Comparison comparison = compare_all(probe, {.objective = Objective::kEnergy});
  EXPECT_EQ(comparison.rows[*comparison.best].text, "cpu/t4");
  EXPECT_THAT(comparison.reason, HasSubstr("; chosen by time, as no energy is known"));
  const Comparison limited = compare_all(probe, {.budget_j = 3600});
  EXPECT_EQ(limited.reason, "nothing surely stays below 1 Wh, as no energy is known");
  EXPECT_FALSE(limited.within_limits);
  EXPECT_FALSE(limited.best) << "what draws nobody knows how much isn't trained on a budget";
}

TEST(Goals, WhatWasNotTriedHasThePowerOfWhatComputesOnAsManyThreads) {
  MadeUpProbe probe = frugal_and_fast();
  probe.steps["cpu/t4"] = {0, 0.1};
  probe.steps["cpu/t1"] = {0, 2};  // so slow that there is no time for four of them
  const auto machine = machine_of(4);
  std::vector<Candidate> candidates = {resolve("cpu/t4", machine, {}), resolve("4xcpu/t1", machine, {})};
  const Comparison comparison =
      compare(candidates, work_of_thousand(), probe, 90, {.objective = Objective::kEnergy}, [](const std::string&) {});
  for (const Row& row : comparison.rows) {
    ASSERT_TRUE(row.power) << row.text;
    if (row.text == "cpu/t4") continue;
    EXPECT_EQ(row.basis, Basis::kPredicted);
    EXPECT_EQ(row.power->of, "cpu/t4");
    EXPECT_EQ(row.power->kind, record::EnergyClass::kDerived);
    EXPECT_FALSE(row.power->noise);
  }
}

TEST(Goals, PrecisionsAreCandidatesToo) {
  MadeUpProbe probe;
  probe.steps = {{"cpu/t4 fp32", {0, 0.002}},
                 {"cpu/t4 bf16", {0, 0.001}},
                 {"cpu/t1 fp32", {0, 0.008}},
                 {"cpu/t1 bf16", {0, 0.005}}};
  probe.watts = {{"", 50}};
  const Comparison comparison =
      compare_all(probe, {.objective = Objective::kEnergy}, "cpu/t1,cpu/t4", {Precision::kFp32, Precision::kBf16});
  ASSERT_EQ(comparison.rows.size(), 4U);
  EXPECT_EQ(comparison.rows[0].text, "cpu/t4 bf16");
  EXPECT_EQ(comparison.rows[0].precision, Precision::kBf16);
  EXPECT_NEAR(*comparison.rows[0].joules_per_image(), 0.05, 1e-9);
  EXPECT_EQ(comparison.rows[3].text, "cpu/t1 fp32");
}

TEST(Goals, AnImpossiblePrecisionIsTold) {
  MadeUpProbe probe;
  probe.steps = {{"cpu/t4", {0, 0.002}}};
  probe.refused_precision = Precision::kFp16;
  const Comparison comparison = compare_all(probe, {}, "cpu/t4", {std::nullopt, Precision::kFp16});
  ASSERT_EQ(comparison.rows.size(), 2U);
  EXPECT_EQ(comparison.rows[0].text, "cpu/t4");
  EXPECT_EQ(comparison.rows[1].text, "cpu/t4 fp16");
  EXPECT_THAT(comparison.rows[1].refusal, HasSubstr("no fp16 here"));
}

TEST(Prices, AreReadInAnyOrderAndMustSaySomething) {
  EXPECT_EQ(parse_price("kwh=0.30,hour=1.2").per_hour, 1.2);
  EXPECT_EQ(parse_price("hour=2").per_kwh, 0);
  EXPECT_NEAR(parse_price("hour=3.6,kwh=0.36").of(1000, 100), 1 + 0.01, 1e-12);
  for (const char* wrong : {"", "0.30", "kwh=", "kwh=-1", "kwh=0", "minute=3", "kwh=1,,hour=2", "kwh=inf", "kwh=nan"}) {
    EXPECT_THROW(parse_price(wrong), UsageError) << wrong;
  }
}

std::vector<EnergyReading> readings_of(double until_s, double watts, double used_watts) {
  std::vector<EnergyReading> readings;
  for (double at_s = 0; at_s <= until_s; at_s += 0.05) readings.push_back({at_s, watts * at_s, used_watts * at_s});
  return readings;
}

TEST(TrialPowers, AreThoseOfTheStepsAlone) {
  std::vector<EnergyReading> readings;
  double joules = 0;
  for (double at_s = 0; at_s < 4; at_s += 0.05) {
    readings.push_back({at_s, joules, joules / 2});
    joules += 0.05 * (at_s < 1 ? 10 : 50);  // it starts for a second
  }
  const TrialPower power = power_between(readings, 1.1, 3.1, 0.1);
  ASSERT_EQ(power.watts.size(), 20U);
  for (const double watts : power.watts) EXPECT_NEAR(watts, 50, 1e-6);
  EXPECT_NEAR(power.used_share, 0.5, 1e-9);
  EXPECT_NEAR(power.seconds, 2, 1e-9);
}

TEST(TrialPowers, OfASlowMeterNeedLongerSteps) {
  EXPECT_EQ(power_between(readings_of(10, 50, 50), 1, 9, 1).watts.size(), 8U);
  const TrialPower power = power_between(readings_of(10, 50, 50), 1, 3, 1);
  EXPECT_TRUE(power.watts.empty());
  EXPECT_THAT(power.reason, HasSubstr("the steps took 2.0 s, in which a sensor that has a new value every 1.0 s"));
  EXPECT_TRUE(power_between({}, 1, 9, 0.1).watts.empty());
}

}  // namespace
}  // namespace evener::training
