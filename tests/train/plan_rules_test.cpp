// Rules of plans by their numbers: what a row is judged by, what keeps to two limits, what several looks come to, and
// what is said of pipelines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/module.h"
#include "base/thrown.h"
#include "comm/communicator.h"
#include "network/cost.h"
#include "train/made_up_machine.h"
#include "train/placements/planner.h"
#include "train/steps/trial.h"

namespace evener::training::plan_rules {
namespace {

using test::machine_of;
using test::MadeUpProbe;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Work ten_batches() {
  Work work;
  work.train_images = 320;
  work.validation_images = 100;
  work.batch = 32;
  work.gradient_bytes = 1e6;
  work.small_exchanges = 2;
  work.memory_bytes = [](const placement::Plan&) { return 1e6; };
  return work;
}

Comparison compared(Probe& probe, const std::string& list, double seconds, int cores = 4, const Goal& goal = {},
                    const placement::PlanOptions& options = {}) {
  const auto machine = machine_of(cores);
  std::vector<Candidate> candidates;
  for (const auto& text : placements_of(list, machine)) candidates.push_back(resolve(text, machine, options));
  return compare(candidates, ten_batches(), probe, seconds, goal, [](const std::string&) {});
}

const Row& row_of(const Comparison& comparison, const std::string& text) {
  const auto found = std::ranges::find(comparison.rows, text, &Row::text);
  if (found == comparison.rows.end()) throw Error("no row " + text);
  return *found;
}

/// `joules`: of an image.
Row row(const std::string& text, double image_s, std::optional<double> joules = {}, double noise = 0) {
  Row row;
  row.text = text;
  row.images_per_s = 1 / image_s;
  row.noise = noise;
  if (joules) row.power = Row::Power{.watts = *joules / image_s, .used_watts = *joules / image_s, .noise = noise};
  return row;
}

// --- judgements ------------------------------------------------------------------------------------------------------

TEST(Judgements, AreThoseOfTimePowerAndPricesWithTheNoiseOfEach) {
  Row row;
  row.images_per_s = 50;
  row.noise = 0.03;
  row.power = Row::Power{.watts = 40, .used_watts = 30, .noise = 0.04};
  const auto expect = [&](const Goal& goal, double value, std::optional<double> noise) {
    SCOPED_TRACE(objective_name(goal.objective));
    const Judged judged = judge(row, goal).value();
    EXPECT_NEAR(judged.value, value, 1e-9 * value);
    EXPECT_NEAR(judged.noise.value_or(-1), noise.value_or(-1), 1e-9);
  };
  const Goal energy{.objective = Objective::kEnergy}, edp{.objective = Objective::kEdp};
  // An hour costs 0.36, so that 0.02 s cost 2e-6; a kilowatt-hour costs 0.36, so that 0.8 J cost 8e-8.
  const Goal cost{.objective = Objective::kCost, .price = {.per_kwh = 0.36, .per_hour = 0.36}};
  expect({}, 0.02, 0.03);
  expect(energy, 0.8, 0.05);
  expect(edp, 0.016, std::hypot(0.04, 0.06));
  expect(cost, 2.08e-6, std::hypot(0.04 * 0.08 / 2.08, 0.03));
  expect({.objective = Objective::kCost, .price = {.per_hour = 0.36}}, 2e-6, 0.03);
  row.noise.reset();  // then 15 % are assumed, where it is one part of several
  expect({}, 0.02, std::nullopt);
  expect(energy, 0.8, std::hypot(0.04, 0.15));
  expect(edp, 0.016, std::hypot(0.04, 0.3));
  row.power->noise.reset();
  expect(energy, 0.8, std::hypot(0.15, 0.15));
  row.power.reset();
  for (const Goal& goal : {energy, edp, cost}) EXPECT_FALSE(judge(row, goal)) << objective_name(goal.objective);
  EXPECT_TRUE(judge(row, {.objective = Objective::kCost, .price = {.per_hour = 0.36}})) << "needs no power";
  row.refusal = "no memory";
  EXPECT_FALSE(judge(row, {}));
}

TEST(Judgements, OfTwoLimitsBothHaveToBeKept) {
  Row fast = row("fast", 0.01, 0.6, 0.01), frugal = row("frugal", 0.02, 0.3, 0.01);
  fast.train_s = 8, fast.validate_s = 2;           // at 60 W 600 J
  frugal.train_s = 16.5, frugal.validate_s = 3.5;  // at 15 W 300 J
  const auto chosen = [&](double deadline_s, double budget_j) {
    return choose({fast, frugal}, {.epochs = 2, .deadline_s = deadline_s, .budget_j = budget_j});
  };
  const RowChoice both = chosen(50, 1800);
  EXPECT_EQ(both.row, 0U);
  EXPECT_EQ(both.reason,
            "of what ends within 50.0 s and stays below 0.5 Wh: fast is the fastest, 2.00 times frugal (20.0 s and "
            "0.333 Wh for 2 epochs)");
  EXPECT_EQ(chosen(30, 1800).row, 0U);
  EXPECT_THAT(chosen(30, 1800).reason, HasSubstr("fast is the only one that can be used"));
  const RowChoice cheap = chosen(50, 900);
  EXPECT_EQ(cheap.row, 1U);
  EXPECT_TRUE(cheap.within_limits);
  // 1.33 times the deadline is nearer than 1.67 times the budget.
  const RowChoice none = chosen(30, 720);
  EXPECT_FALSE(none.within_limits);
  EXPECT_EQ(none.reason,
            "nothing ends within 30.0 s and stays below 0.2 Wh: the nearest is frugal with 40.0 s and 0.167 Wh");
  EXPECT_EQ(chosen(15, 720).row, 0U) << "now the budget is nearer";
}

TEST(Judgements, WhatBeatsARowIsAsGoodInBothAndBetterBeyondTheNoiseInOne) {
  Row unknown = row("unknown", 0.001), refused = row("refused", 0.001, 0.1);
  refused.refusal = "no memory";
  const std::vector<Row> rows = {row("frugal", 0.02, 0.25),
                                 row("fast", 0.01, 0.5),
                                 row("both worse", 0.02, 0.5),
                                 row("nearly as fast", 0.0101, 0.505),
                                 row("noisy", 0.0105, 0.505, 0.2),
                                 unknown,
                                 refused};
  const auto beaten = beaten_by(rows);
  for (const std::size_t front : {0, 1, 3, 4, 5, 6}) EXPECT_FALSE(beaten[front]) << rows[front].text;
  EXPECT_EQ(beaten[2], 0U) << "the first of those that do";
}

// --- pipelines -------------------------------------------------------------------------------------------------------

Row pipeline(double images_per_s, const Row::Pipeline& figures) {
  Row row;
  row.text = "cpu/t1..cpu/t1";
  row.plan = resolve(row.text, machine_of(2), {}).plan.value();
  row.images_per_s = images_per_s;
  row.noise = 0.01;
  row.pipeline = figures;
  return row;
}

TEST(PipelineNotes, SayTheSpeedAndWhatCostsIt) {
  Row plain = row("2xcpu/t1", 0.01, {}, 0.01);
  plain.plan = resolve("2xcpu/t1", machine_of(2), {}).plan.value();
  const auto note = [&](const Row& staged, bool has_rival) {
    const auto notes = pipeline_notes(has_rival ? std::vector{plain, staged} : std::vector{staged});
    return notes.empty() ? std::string() : notes.front();
  };
  const Row::Pipeline four{.predicted_images_per_s = 80, .bubble = 0.25, .micro_batches = 4, .cost_of_parts = 1.04};
  EXPECT_EQ(note(pipeline(90, four), true),
            "cpu/t1..cpu/t1 doesn't pay: 90 images/s measured, 80 predicted, 0.90 times 2xcpu/t1; the stages wait 25 % "
            "of the time, with 4 micro-batches");
  EXPECT_THAT(note(pipeline(101, four), true), HasSubstr("doesn't pay")) << "no more than the noise";
  EXPECT_THAT(note(pipeline(110, four), true), HasSubstr("cpu/t1..cpu/t1 pays: 110 images/s"));
  Row predicted = pipeline(90, {.predicted_images_per_s = 90, .micro_batches = 1, .cost_of_parts = 1.5});
  predicted.basis = Basis::kPredicted;
  EXPECT_EQ(note(predicted, false),
            "cpu/t1..cpu/t1: 90 images/s predicted; a batch passes in one piece, so that one stage computes at a time, "
            "in which an image takes 1.50 times what it takes in a whole batch");
  predicted.refusal = "no memory";
  EXPECT_EQ(note(predicted, true), "");
}

TEST(CostOfParts, IsTheComputingTimeOfAllStagesOverThatOfOneDevice) {
  const auto cost = [](const std::string& placement) {
    Row row;
    row.plan = resolve(placement, machine_of(8), {}).plan.value();
    const std::vector<parallel::StageTimes> stages = {{1, 2, 0.5}, {3, 4, 0.25}};
    return cost_of_parts(row, {{stages, stages}, {9, 9}, 2, parallel::PipelineSchedule::k1F1B}, 10);
  };
  EXPECT_NEAR(cost("2xcpu/t1..cpu/t1").value(), 2 * 2 * (3.5 + 7.25) / 10, 1e-9);
  EXPECT_FALSE(cost("2xcpu/t1..cpu/t2")) << "other threads";
  EXPECT_FALSE(cost("cpu/t1..cpu/t1+cpu/t2..cpu/t1"));
  EXPECT_FALSE(cost("2xcpu/t1@0.5..cpu/t1"));
}

// --- several looks ---------------------------------------------------------------------------------------------------

/// A machine that is different when it is looked at for the second time.
class ChangedMachine : public MadeUpProbe {
 public:
  double slower = 1, second_watts = 0, second_seconds = 1;

  Trial trial(const placement::Plan& plan, double seconds) override {
    Trial trial = MadeUpProbe::trial(plan, seconds);
    trial.power.used_share = 0.5;
    if (std::ranges::count(tried, tried.back()) < 2) return trial;
    for (Timing& size : trial.timings) size.seconds *= slower;
    if (second_watts > 0) trial.power.watts.assign(20, second_watts);
    trial.power.seconds = second_seconds;
    return trial;
  }
};

TEST(Looks, OfOnePlacementAreTakenTogetherAndTheirDifferenceIsNoise) {
  ChangedMachine probe;
  probe.steps = {{"cpu/t1", {0, 0.002}}, {"cpu/t2", {0, 0.0021}}};
  probe.noise = 0;
  probe.watts[""] = 50;
  probe.slower = 1.2;
  probe.second_watts = 70;
  const Row row = row_of(compared(probe, "cpu/t1,cpu/t2", 15), "cpu/t1");
  ASSERT_EQ(std::ranges::count(probe.tried, "cpu/t1"), 2);
  EXPECT_NEAR(row.images_per_s, 1 / 0.0022, 1e-6) << "by the mean time";
  EXPECT_NEAR(row.noise.value(), 0.2 / 2, 1e-9) << "half of the difference, though no block differs from another";
  ASSERT_TRUE(row.power);
  EXPECT_NEAR(row.power->watts, (3 * 50 + 1 * 70) / 4.0, 1e-9) << "by what each look took";
  EXPECT_NEAR(row.power->noise.value(), (70 - 50) / 2.0 / 60, 1e-9);
  EXPECT_NEAR(row.power->used_watts, 55 / 2.0, 1e-9);
  EXPECT_NEAR(row.used_joules_per_image().value(), 27.5 * 0.0022, 1e-9);
  EXPECT_EQ(row.power->kind, record::EnergyClass::kMeasured);
}

// The first look has no time for a whole batch; the second is the first one that counts, in speed, noise and power.
TEST(Looks, ThatCameToNoWholeBatchCountNoMore) {
  ChangedMachine probe;
  probe.steps = {{"cpu/t1", {0, 0.01}}, {"cpu/t2", {0, 0.02}}};
  probe.watts[""] = 50;
  probe.second_watts = 70;
  const Comparison comparison = compared(probe, "cpu/t1,cpu/t2", 5.8);
  const Row& again = row_of(comparison, "cpu/t1");
  ASSERT_EQ(std::ranges::count(probe.tried, "cpu/t1"), 2);
  EXPECT_EQ(again.basis, Basis::kMeasured);
  EXPECT_TRUE(again.noise.has_value());
  EXPECT_NEAR(again.power.value().watts, 70, 1e-9);
  EXPECT_NEAR(again.power->noise.value(), 0, 1e-9);
  const Row& once = row_of(comparison, "cpu/t2");
  EXPECT_EQ(once.basis, Basis::kPredicted);
  EXPECT_FALSE(once.noise.has_value());
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("too little time to try a whole batch on cpu/t2: ")));
}

TEST(Groups, OfGivenSharesArePredictedByTheReplicaWithTheMost) {
  MadeUpProbe probe;
  probe.steps = {{"cpu/t1", {0.2, 0.06}}, {"2xcpu/t1", {1, 1}}};
  probe.between = {1.5, 1e-7};
  placement::PlanOptions options;
  options.shares = placement::parse_share_rule("3:1");
  const Comparison comparison = compared(probe, "2xcpu/t1", 40, 2, {}, options);
  const Row& group = row_of(comparison, "2xcpu/t1");
  ASSERT_EQ(group.basis, Basis::kPredicted);
  EXPECT_NEAR(group.images_per_s, 32 / (0.2 + 0.06 * 24 + 1.5 + 0.1 + 2 * 1.5), 0.01);
}

TEST(Groups, OfEqualSizesHaveOneExchange) {
  class Counting : public MadeUpProbe {
   public:
    std::vector<std::size_t> ranks;
    ExchangeModel exchange(const placement::Plan& plan) override {
      ranks.push_back(plan.replicas.size());
      return MadeUpProbe::exchange(plan);
    }
  } probe;
  for (const char* text : {"cpu/t1", "cpu/t2", "2xcpu/t1", "2xcpu/t2", "4xcpu/t1"}) probe.steps[text] = {0.01, 0.001};
  compared(probe, "2xcpu/t1,2xcpu/t2,cpu/t2,4xcpu/t1", 30);
  EXPECT_THAT(probe.ranks, ElementsAre(2, 4));
}

TEST(Groups, ReadWithALoaderForEachReplica) {
  MadeUpProbe probe;
  probe.steps = {{"cpu/t1", {0, 0.003}}, {"2xcpu/t1", {0, 0.0018}}};  // 556 images/s
  probe.loader = 400;
  const auto limits = Contains(HasSubstr("preparing the images limits 2xcpu/t1"));
  EXPECT_THAT(compared(probe, "2xcpu/t1", 30, 2).notes, Not(limits)) << "two of them give 800";
  probe.loader = 340;
  EXPECT_THAT(compared(probe, "2xcpu/t1", 30, 2).notes, limits);
}

TEST(RowOrder, PutsWhatCannotBeJudgedBehindWhatCanAndWhatCannotBeUsedLast) {
  MadeUpProbe probe;
  probe.steps = {{"cpu/t1", {0, 0.004}}, {"cpu/t2", {0, 0.002}}, {"cpu/t3", {0, 0.001}}, {"cpu/t4", {0, 0.003}}};
  probe.watts = {{"cpu/t1", 10}, {"cpu/t4", 60}};
  probe.refusals["2xcpu/t1"] = "the engine doesn't like it";
  const Comparison comparison =
      compared(probe, "2xcpu/t1,cpu/t4,cpu/t2,cpu/t3,cpu/t1", 60, 4, {.objective = Objective::kEnergy});
  std::vector<std::string> order;
  for (const Row& each : comparison.rows) order.push_back(each.text);
  EXPECT_THAT(order, ElementsAre("cpu/t1", "cpu/t4", "cpu/t3", "cpu/t2", "2xcpu/t1"));
  EXPECT_EQ(comparison.rows[2].power_reason, "no sensor sees it");
}

// --- texts -----------------------------------------------------------------------------------------------------------

TEST(Goals, AreNamedAndPricesMayHaveBlanks) {
  for (const Objective each : {Objective::kTime, Objective::kEnergy, Objective::kEdp, Objective::kCost}) {
    EXPECT_EQ(parse_objective(objective_name(each)), each);
  }
  EXPECT_THAT(test::thrown_by<UsageError>([] { parse_objective("enregy"); }), HasSubstr("did you mean 'energy'?"));
  const Price price = parse_price(" kwh = 0.25 , hour=2");
  EXPECT_EQ(price.per_kwh, 0.25);
  EXPECT_EQ(price.per_hour, 2);
  EXPECT_THAT(test::thrown_by<UsageError>([] { parse_price("hour=1,day=24"); }),
              HasSubstr("--price 'hour=1,day=24': 'day=24' is neither kwh=PRICE nor hour=PRICE"));
  EXPECT_TRUE((Goal{.objective = Objective::kTime, .budget_j = 1}.needs_energy()));
  EXPECT_FALSE((Goal{.objective = Objective::kCost, .price = {.per_hour = 1}}.needs_energy()));
  EXPECT_TRUE((Goal{.objective = Objective::kCost, .price = {.per_kwh = 1, .per_hour = 1}}.needs_energy()));
}

TEST(Candidates, AreMadeForEachPrecision) {
  const auto candidates = in_precisions({resolve("cpu/t1", machine_of(2), {}), resolve("cpu/t2", machine_of(2), {})},
                                        {Precision::kBf16, std::nullopt});
  std::vector<std::string> told;
  for (const Candidate& one : candidates) {
    told.push_back(one.text + (one.precision ? std::string(" ") + precision_name(*one.precision) : ""));
  }
  EXPECT_THAT(told, ElementsAre("cpu/t1 bf16", "cpu/t2 bf16", "cpu/t1", "cpu/t2"));
}

TEST(WorkOfATraining, HasItsImagesItsGradientsAndTheShareOfItsForwardPass) {
  if (module_status("native").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the native engine is not built";
  TrainOptions options;
  options.model = "mlp:784-4-10";
  options.engine = "native";
  options.data.location = "synth:digits:100";
  options.batch = 20;
  const auto with_work = [&](auto&& look) {
    TrainObserver observer;
    const PreparedTraining training(options, observer);
    const Trials trials(training);
    look(work_of(trials), trials);
  };
  double gradient_bytes = 0;
  with_work([&](const Work& work, const Trials& trials) {
    EXPECT_EQ(work.train_images, static_cast<double>(trials.setup().train_images));
    EXPECT_EQ(work.validation_images, static_cast<double>(trials.setup().val_images));
    EXPECT_NE(work.validation_images, work.train_images);
    EXPECT_GT(work.validation_images, 0);
    EXPECT_EQ(work.batch, 20);
    EXPECT_EQ(work.small_exchanges, 2);
    gradient_bytes = work.gradient_bytes;
    const auto cost = network::total_cost(trials.setup().network);
    EXPECT_NEAR(work.forward_share * static_cast<double>(cost.forward_flops + cost.backward_flops),
                static_cast<double>(cost.forward_flops), 1e-3);
  });
  EXPECT_EQ(gradient_bytes, (784 * 4 + 4 + 4 * 10 + 10) * 4);
  options.communication_dtype = comm::CommunicationDtype::kBFloat16;
  options.loader_threads = 3;
  with_work([&](const Work& work, const Trials&) {
    EXPECT_EQ(work.gradient_bytes, gradient_bytes / 2);
    EXPECT_FALSE(work.loader_speedup) << "all replicas have as many threads";
  });
}

}  // namespace
}  // namespace evener::training::plan_rules
