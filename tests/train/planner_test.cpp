// What a planner tries, concludes and says, on made-up machines: the placements that it compares, the arithmetic of its
// predictions, and its choice.
#include "train/placements/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/module.h"
#include "placement/machine.h"
#include "train/made_up_machine.h"
#include "train/placements/candidates.h"
#include "train/placements/probe.h"
#include "train/steps/trial.h"

namespace evener::training {
namespace {

using test::machine_of;
using test::MadeUpProbe;
using testing::AllOf;
using testing::Contains;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

TEST(UsualPlacements, AreThreadsAndReplicasThatFillTheCores) {
  EXPECT_THAT(usual_placements(machine_of(1)), ElementsAre("cpu/t1"));
  EXPECT_THAT(usual_placements(machine_of(2)), ElementsAre("cpu/t1", "cpu/t2", "2xcpu/t1", "cpu/t1..cpu/t1"));
  EXPECT_THAT(usual_placements(machine_of(4)),
              ElementsAre("cpu/t1", "cpu/t2", "cpu/t4", "2xcpu/t2", "4xcpu/t1", "cpu/t2..cpu/t2", "2xcpu/t1..cpu/t1"));
  EXPECT_THAT(usual_placements(machine_of(6)),
              ElementsAre("cpu/t1", "cpu/t2", "cpu/t4", "cpu/t6", "2xcpu/t3", "4xcpu/t1", "6xcpu/t1", "cpu/t3..cpu/t3",
                          "2xcpu/t1..cpu/t1"));
}

TEST(UsualPlacements, TryTheFastCoresAloneWhereThereAreOthers) {
  auto machine = machine_of(8);
  machine.cpu.kinds = {{.name = "fast", .cores = 6}, {.name = "slow", .cores = 2}};
  EXPECT_THAT(usual_placements(machine), testing::Contains("cpu/t6"));
  machine.cpu.kinds = {};
  EXPECT_THAT(usual_placements(machine), testing::Not(testing::Contains("cpu/t6")));
  machine.cpu.kinds = {{.name = "fast", .cores = 4}, {.name = "slow", .cores = 4}};
  EXPECT_THAT(usual_placements(machine), testing::Contains("cpu/t4").Times(1));
}

TEST(FastestCores, AreToldWhereAJobHasOthersToo) {
  auto machine = machine_of(8);
  EXPECT_EQ(placement::fastest_cores(machine), std::nullopt);
  machine.cpu.kinds = {{.name = "fast", .cores = 6}, {.name = "slow", .cores = 2}};
  EXPECT_EQ(placement::fastest_cores(machine), 6);
  machine.cores = 6;  // a quota
  EXPECT_EQ(placement::fastest_cores(machine), std::nullopt);
  EXPECT_THAT(usual_placements(machine), testing::Contains("cpu/t6").Times(1));
}

TEST(UsualPlacements, HaveTheGpusThatAreThere) {
  auto machine = machine_of(2);
  machine.cuda.devices.resize(1);
  EXPECT_THAT(usual_placements(machine), IsSupersetOf({"cuda:0", "cuda:0+cpu"}));
  EXPECT_THAT(usual_placements(machine), testing::Not(testing::Contains("cuda:all")));
  machine.cuda.devices.resize(2);
  EXPECT_THAT(usual_placements(machine), testing::Contains("cuda:all"));
}

TEST(PlacementsOf, ReadsAListAndNamesEachOnce) {
  const auto machine = machine_of(2);
  EXPECT_THAT(placements_of("2xcpu/t1,cpu/t02,cpu/t2", machine), ElementsAre("2xcpu/t1", "cpu/t2"));
  EXPECT_EQ(placements_of("auto", machine), usual_placements(machine));
  EXPECT_THAT(placements_of("cpu/t3,auto", machine),
              ElementsAre("cpu/t3", "cpu/t1", "cpu/t2", "2xcpu/t1", "cpu/t1..cpu/t1"));
}

TEST(PlacementsOf, RefusesWhatIsNoPlacement) {
  const auto machine = machine_of(2);
  for (const char* list : {"cpu/t1,cdua", "", "cpu/t1,", "cpu/t1,,cpu/t2"}) {
    EXPECT_THROW(placements_of(list, machine), UsageError) << list;
  }
}

TEST(Resolve, TurnsWhatTheMachineCantDoIntoAReason) {
  const Candidate gpu = resolve("cuda:0", machine_of(2), {});
  EXPECT_FALSE(gpu.plan);
  EXPECT_THAT(gpu.refusal, HasSubstr("there is no cuda:0: nobody looked"));
  EXPECT_EQ(gpu.refusal.find('\n'), std::string::npos);
  placement::PlanOptions shares;
  shares.shares = placement::ShareRule{false, {12, 1}};
  EXPECT_THAT(resolve("4xcpu/t1", machine_of(4), shares).refusal, HasSubstr("--shares"));
  EXPECT_TRUE(resolve("2xcpu/t1", machine_of(2), shares).plan);
}

TEST(KindOf, TellsDevicesThreadsAndEmulationApart) {
  const auto plan = resolve("2xcpu/t1+cpu/t1@0.5", machine_of(4), {}).plan.value();
  EXPECT_EQ(kind_of(plan.replicas[0]), "cpu/t1");
  EXPECT_EQ(kind_of(plan.replicas[1]), "cpu/t1");
  EXPECT_EQ(kind_of(plan.replicas[2]), "cpu/t1@0.5");
}

TEST(PlanAlone, HasOneReplicaOfRankZeroWithTheWholeBatch) {
  const auto plan = resolve("cpu/t1+cpu/t1@0.5", machine_of(2), {}).plan.value();
  const auto alone = plan_alone(plan, plan.replicas[1]);
  ASSERT_EQ(alone.replicas.size(), 1U);
  EXPECT_EQ(alone.text, "cpu/t1@0.5");
  EXPECT_EQ(alone.replicas[0].rank, 0);
  EXPECT_EQ(alone.replicas[0].share, 1);
  ASSERT_EQ(alone.processes.size(), 1U);
  EXPECT_THAT(alone.processes[0].ranks, ElementsAre(0));
}

// The arithmetic of predictions.

constexpr double kNear = 1e-9;

Group two(StepModel first, StepModel second, double exchange_s = 0) {
  Group group;
  group.replicas = {first, second};
  group.exchange_s = [exchange_s](int) { return exchange_s; };
  return group;
}

TEST(FitStep, TakesTheLineThroughTheTwoLargestSizes) {
  const Timing timings[] = {{4, 1.0}, {16, 0.18}, {32, 0.34}};
  const StepModel step = fit_step(timings);
  EXPECT_NEAR(step.fixed_s, 0.02, kNear);
  EXPECT_NEAR(step.per_image_s, 0.01, kNear);
  EXPECT_NEAR(step.seconds(64), 0.66, kNear);
}

TEST(FitStep, IsProportionalWhereALineMakesNoSense) {
  const Timing one[] = {{8, 0.4}};
  const Timing falling[] = {{8, 0.5}, {16, 0.4}};
  const Timing below_zero[] = {{8, 0.1}, {16, 0.4}};
  EXPECT_NEAR(fit_step(one).seconds(16), 0.8, kNear);
  EXPECT_NEAR(fit_step(falling).seconds(8), 0.2, kNear);
  EXPECT_NEAR(fit_step(below_zero).seconds(8), 0.2, kNear);
  EXPECT_EQ(fit_step(below_zero).fixed_s, 0);
  EXPECT_EQ(fit_step({}).seconds(8), 0);
}

TEST(EpochSeconds, CountTheLastBatchAsWhatItIs) {
  const StepModel step{0.1, 0.01};
  EXPECT_NEAR(epoch_seconds(step, 100, 50), 2 * 0.6, kNear);
  EXPECT_NEAR(epoch_seconds(step, 110, 50), 2 * 0.6 + 0.2, kNear);
  EXPECT_NEAR(epoch_seconds(step, 10, 50), 0.2, kNear);
}

TEST(FitExchange, SeparatesLatencyAndBandwidth) {
  const ExchangeModel exchange = fit_exchange(1000, 0.002, 101'000, 0.102);
  EXPECT_NEAR(exchange.s_per_byte, 1e-6, 1e-15);
  EXPECT_NEAR(exchange.latency_s, 0.001, kNear);
  EXPECT_NEAR(exchange.seconds(1'000'000), 1.001, kNear);
}

TEST(FitExchange, NeverFallsWithTheSize) {
  EXPECT_EQ(fit_exchange(1000, 0.002, 100'000, 0.001).seconds(1e9), 0.002);
  EXPECT_GE(fit_exchange(1000, 0.0001, 2000, 1).latency_s, 0);
}

TEST(StepTogether, GivesUnequalReplicasSharesThatEndTogether) {
  // 3 : 1 in speed, no fixed costs.
  const GroupStep step = step_together(two({0, 0.01}, {0, 0.03}), 40);
  EXPECT_THAT(step.images, ElementsAre(DoubleNear(30, 1e-6), DoubleNear(10, 1e-6)));
  EXPECT_NEAR(step.seconds, 0.3, 1e-6);
}

TEST(StepTogether, TakesFixedCostsOffTheShare) {
  // The second has 0.1 s less for images: 0.01 n = 0.1 + 0.01 (50 - n), n = 30.
  const GroupStep step = step_together(two({0, 0.01}, {0.1, 0.01}), 50);
  EXPECT_THAT(step.images, ElementsAre(DoubleNear(30, 1e-6), DoubleNear(20, 1e-6)));
}

TEST(StepTogether, GivesNothingToAReplicaThatIsLateWithoutImages) {
  const GroupStep step = step_together(two({0, 0.01}, {9, 0.01}), 50);
  EXPECT_THAT(step.images, ElementsAre(DoubleNear(50, 1e-6), 0));
}

TEST(StepTogether, WaitsForTheSlowestOfFixedShares) {
  Group group = two({0, 0.01}, {0, 0.03});
  group.weights = {1, 1};
  const GroupStep step = step_together(group, 40);
  EXPECT_THAT(step.images, ElementsAre(20, 20));
  EXPECT_NEAR(step.seconds, 0.6, kNear);
}

TEST(StepTogether, AddsTheExchangeAndWaitsForLoaders) {
  EXPECT_NEAR(step_together(two({0, 0.01}, {0, 0.01}, 0.05), 40).seconds, 0.25, 1e-6);
  Group hungry = two({0, 0.01}, {0, 0.01});
  hungry.images_per_s_limit = 50;  // 20 images take a loader 0.4 s
  EXPECT_NEAR(step_together(hungry, 40).seconds, 0.4, 1e-6);
}

TEST(StepOfRun, LeavesAHelperOutThatCostsMoreThanItBrings) {
  // The helper brings 1 % and costs an exchange of 0.1 s in a step of 0.4 s.
  const Group group = two({0, 0.01}, {0, 1.0}, 0.1);
  const GroupStep step = step_of_run(group, 40);
  EXPECT_THAT(step.images, ElementsAre(DoubleNear(40, 1e-6), 0));
  EXPECT_NEAR(step.seconds, 0.4, 1e-6);
  EXPECT_GT(step_together(group, 40).seconds, 0.49);
}

TEST(StepOfRun, KeepsAHelperThatBringsMoreThanItCosts) {
  const GroupStep step = step_of_run(two({0, 0.01}, {0, 0.01}, 0.1), 40);
  EXPECT_NEAR(step.seconds, 0.3, 1e-6);
}

TEST(StepOfRun, LeavesOutTheWeakestFirst) {
  Group group = two({0, 0.01}, {0, 1.0});
  group.replicas.push_back({0, 0.01});
  group.exchange_s = [](int ranks) { return ranks > 2 ? 1.0 : 0.01; };
  const GroupStep step = step_of_run(group, 40);
  EXPECT_THAT(step.images, ElementsAre(DoubleNear(20, 1e-6), 0, DoubleNear(20, 1e-6)));
}

TEST(StepOfRun, NeverLeavesTheLeaderOutOrChangesFixedShares) {
  const GroupStep slow_leader = step_of_run(two({0, 1.0}, {0, 0.01}, 100), 40);
  EXPECT_NEAR(slow_leader.seconds, 40, 1e-6);  // alone
  Group fixed = two({0, 0.01}, {0, 1.0});
  fixed.weights = {1, 1};
  EXPECT_NEAR(step_of_run(fixed, 40).seconds, 20, kNear);
}

TEST(Ceiling, IsOnePlusTheOthersRatios) {
  EXPECT_DOUBLE_EQ(ceiling(std::vector<double>{100, 25}), 1.25);
  EXPECT_DOUBLE_EQ(ceiling(std::vector<double>{25, 100, 50}), 1.75);
  EXPECT_DOUBLE_EQ(ceiling({}), 1);
}

// Comparisons and choices.

Work small_work() {
  Work work;
  work.train_images = 320;
  work.validation_images = 100;
  work.batch = 32;
  work.gradient_bytes = 1e6;
  work.small_exchanges = 2;
  work.memory_bytes = [](const placement::Plan& plan) {
    return 320.0 + 1000 * static_cast<double>(plan.replicas.size());
  };
  return work;
}

Comparison compare_on(MadeUpProbe& probe, const std::string& list, double seconds = 15, const Work& work = small_work(),
                      int cores = 2) {
  const auto machine = machine_of(cores);
  std::vector<Candidate> candidates;
  for (const auto& text : placements_of(list, machine)) {
    candidates.push_back(resolve(text, machine, {}));
    candidates.back().asked = list != "auto";
  }
  return compare(candidates, work, probe, seconds, {}, [](const std::string&) {});
}

const Row& row_of(const Comparison& comparison, const std::string& text) {
  for (const Row& row : comparison.rows) {
    if (row.text == text) return row;
  }
  throw Error("no row " + text);
}

std::string choice_of(const Comparison& comparison) {
  return comparison.best ? comparison.rows[*comparison.best].text : "nothing";
}

/// Two cores: threads bring 1.5 times, processes 1.8 times.
MadeUpProbe two_cores() {
  MadeUpProbe probe;
  probe.steps = {{"cpu/t1", {0.01, 0.003}}, {"cpu/t2", {0.01, 0.002}}, {"2xcpu/t1", {0.01, 0.0015}}};
  // 4 micro-batches of 8 images, in 5 times 25 ms; batch-norm of whole batches would make it 1 in 2 times 50 ms.
  probe.forecasts["cpu/t1..cpu/t1"] = {{{{0.01, 0.015}, {0.01, 0.015}}}, {0}, 4, parallel::PipelineSchedule::k1F1B};
  return probe;
}

TEST(Compare, TellsWhatPlansWarnOf) {
  MadeUpProbe probe = two_cores();
  probe.steps["4xcpu/t1"] = probe.steps["2xcpu/t1"];
  EXPECT_THAT(compare_on(probe, "4xcpu/t1").notes, ElementsAre(HasSubstr("4xcpu/t1: 2 of 4 replicas")));
}

TEST(Compare, MeasuresAllWhereThereIsTimeAndTakesTheFastest) {
  MadeUpProbe probe = two_cores();
  const Comparison comparison = compare_on(probe, "auto");
  EXPECT_EQ(choice_of(comparison), "2xcpu/t1");
  EXPECT_THAT(comparison.reason, HasSubstr("2xcpu/t1 is the fastest, 1.28 times cpu/t2"));
  ASSERT_EQ(comparison.rows.size(), 4U);
  EXPECT_EQ(comparison.rows[0].text, "2xcpu/t1");
  EXPECT_EQ(comparison.rows[2].text, "cpu/t1");
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(comparison.rows[i].basis, Basis::kMeasured) << comparison.rows[i].text;
  EXPECT_NEAR(comparison.rows[0].images_per_s, 32 / (0.01 + 0.0015 * 32), 1e-6);
  EXPECT_NEAR(comparison.rows[0].train_s, 10 * 0.058, 1e-9);
  EXPECT_NEAR(comparison.rows[0].epoch_s(), 0.58 + 0.1, 1e-9);
  EXPECT_THAT(comparison.notes, ElementsAre(HasSubstr("cpu/t1..cpu/t1 doesn't pay")));
  EXPECT_EQ(comparison.energy_refusal, "made up");
  EXPECT_LE(comparison.seconds, 15.01);
}

TEST(Compare, CountsTheEnergyOfAnImageWhereThePowerIsKnown) {
  MadeUpProbe probe = two_cores();
  EXPECT_FALSE(compare_on(probe, "auto").rows[0].joules_per_image());
  probe.watts[""] = 50;
  const Comparison comparison = compare_on(probe, "auto");
  EXPECT_NEAR(row_of(comparison, "cpu/t1").joules_per_image().value(), 50 * (0.01 + 0.003 * 32) / 32, 1e-9);
  EXPECT_NEAR(row_of(comparison, "2xcpu/t1").joules_per_image().value(), 50 * (0.01 + 0.0015 * 32) / 32, 1e-9);
}

TEST(Compare, LooksTwiceAtThoseThatMayBeTheBest) {
  MadeUpProbe probe = two_cores();
  compare_on(probe, "auto");
  EXPECT_EQ(std::ranges::count(probe.tried, "2xcpu/t1"), 2);
  EXPECT_EQ(std::ranges::count(probe.tried, "cpu/t2"), 2);
  EXPECT_EQ(std::ranges::count(probe.tried, "cpu/t1"), 1);
}

TEST(Compare, CountsBothLooksAtWhatIsNamedWithoutItsThreads) {
  MadeUpProbe probe = two_cores();
  const Comparison comparison = compare_on(probe, "cpu,2xcpu/t1");
  EXPECT_EQ(std::ranges::count(probe.tried, "cpu/t2"), 2);
  EXPECT_NEAR(row_of(comparison, "cpu").images_per_s, 32 / (0.01 + 0.002 * 32), 1e-6);
}

TEST(Compare, GivesGroupsTheirCeilingAndTheMemoryOfAllReplicas) {
  MadeUpProbe probe = two_cores();
  const Comparison comparison = compare_on(probe, "auto");
  const Row& group = row_of(comparison, "2xcpu/t1");
  EXPECT_NEAR(group.ceiling.value(), 2, 1e-9);
  EXPECT_NEAR(group.reached.value(), 0.106 / 0.058, 1e-9);
  EXPECT_NEAR(group.memory_bytes, 320 + 2 * 1000, 1e-9);
  const Row& alone = row_of(comparison, "cpu/t2");
  EXPECT_FALSE(alone.ceiling || alone.reached);
  EXPECT_NEAR(alone.memory_bytes, 320 + 1000, 1e-9);
}

TEST(Compare, PredictsAGroupThatThereIsNoTimeFor) {
  MadeUpProbe probe = two_cores();
  for (auto& [text, step] : probe.steps) step = {step.fixed_s * 20, step.per_image_s * 20};
  probe.between = {1.5, 1e-7};
  const Comparison comparison = compare_on(probe, "cpu/t1,2xcpu/t1", 40);
  EXPECT_THAT(probe.tried, Not(Contains("2xcpu/t1")));
  const Row& group = row_of(comparison, "2xcpu/t1");
  EXPECT_EQ(group.basis, Basis::kPredicted);
  // Half of the batch each, 1 MB of gradients, two small exchanges.
  EXPECT_NEAR(group.images_per_s, 32 / (0.2 + 0.06 * 16 + 1.5 + 0.1 + 2 * 1.5), 0.01);
  EXPECT_EQ(group.validate_basis, Basis::kPredicted);
  EXPECT_NEAR(group.validate_s, 100 / (3 * group.images_per_s), 1e-9);
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("too little time to try a whole batch on 2xcpu/t1")));
}

TEST(Compare, SaysWhatWasTooSlowForAWholeBatch) {
  MadeUpProbe probe;
  probe.steps = {{"cpu/t1", {0, 1}}};
  const Comparison comparison = compare_on(probe, "cpu/t1", 10);
  const Row& row = row_of(comparison, "cpu/t1");
  EXPECT_EQ(row.basis, Basis::kPredicted);
  EXPECT_NEAR(row.images_per_s, 1, 1e-9);
  EXPECT_THAT(comparison.notes, ElementsAre(HasSubstr("cpu/t1")));
}

TEST(Compare, ListsWhatCantBeUsedLastWithItsReason) {
  MadeUpProbe probe = two_cores();
  probe.refusals["cpu/t1"] = "the engine doesn't like it";
  probe.steps.erase("2xcpu/t1");
  const Comparison comparison = compare_on(probe, "cpu/t1,cuda:0,2xcpu/t1,cpu/t2");
  EXPECT_EQ(choice_of(comparison), "cpu/t2");
  EXPECT_EQ(comparison.reason, "cpu/t2 is the only one that can be used");
  EXPECT_EQ(comparison.rows[0].text, "cpu/t2");
  EXPECT_EQ(row_of(comparison, "cpu/t1").refusal, "the engine doesn't like it");
  EXPECT_THAT(row_of(comparison, "cuda:0").refusal, HasSubstr("there is no cuda:0"));
  EXPECT_EQ(row_of(comparison, "2xcpu/t1").refusal, "no memory for 2xcpu/t1");
}

TEST(Compare, ChoosesNothingWhereNothingCanBeUsed) {
  MadeUpProbe probe;
  const Comparison comparison = compare_on(probe, "cpu/t1,2xcpu/t1");
  EXPECT_EQ(choice_of(comparison), "nothing");
  for (const Row& row : comparison.rows) EXPECT_FALSE(row.refusal.empty()) << row.text;
}

TEST(Compare, NamesALoaderThatLimits) {
  MadeUpProbe probe = two_cores();
  probe.loader = 300;
  EXPECT_THAT(compare_on(probe, "cpu/t1").notes,
              Contains(AllOf(HasSubstr("gives 300 images/s"), HasSubstr("--loader-threads 2"))));
  // Where a replica's loader has more threads than the one that was measured.
  Work work = small_work();
  work.loader_speedup = [](const placement::Plan&) { return 4; };
  EXPECT_TRUE(compare_on(probe, "cpu/t1", 15, work).notes.empty());
  probe.loader = 50;
  EXPECT_THAT(compare_on(probe, "cpu/t1", 15, work).notes,
              Contains(AllOf(HasSubstr("gives 200 images/s"), HasSubstr("--loader-threads 8"))));
}

TEST(Compare, SaysThatOthersUsedTheMachine) {
  MadeUpProbe probe = two_cores();
  probe.others = 0.04;
  EXPECT_TRUE(compare_on(probe, "cpu/t1").notes.empty());
  EXPECT_EQ(compare_on(probe, "cpu/t1").others, "");
  probe.others = 0.31;
  EXPECT_THAT(compare_on(probe, "cpu/t1").others, HasSubstr("others used 31 %"));
  EXPECT_THAT(compare_on(probe, "cpu/t1").notes,
              ElementsAre(HasSubstr("others used 31 % of this machine's CPUs meanwhile")));
}

TEST(Compare, PassesAnInterruptionOn) {
  class Stopped : public MadeUpProbe {
    Trial trial(const placement::Plan&, double) override { throw Interrupted("Ctrl-C"); }
  } probe;
  EXPECT_THROW(compare_on(probe, "cpu/t1"), Interrupted);
}

TEST(Compare, PredictsStagesByTheirScheduleAndSaysThatTheyDontPay) {
  MadeUpProbe probe = two_cores();
  const Comparison comparison = compare_on(probe, "auto");
  EXPECT_THAT(probe.tried, Not(Contains("cpu/t1..cpu/t1"))) << "nobody asked, and it would take twice as long";
  const Row& stages = row_of(comparison, "cpu/t1..cpu/t1");
  EXPECT_EQ(stages.basis, Basis::kPredicted);
  EXPECT_NEAR(stages.images_per_s, 32 / (5 * 0.025), 1e-6);
  EXPECT_NEAR(stages.pipeline.value().bubble, 1.0 / 5, 1e-9);
  EXPECT_NEAR(stages.ceiling.value(), 2, 1e-9);
  EXPECT_NEAR(stages.reached.value(), 0.106 / 0.125, 1e-9);
  EXPECT_NEAR(stages.pipeline->cost_of_parts.value(), 4 * 2 * 0.025 / 0.106, 1e-9);
  EXPECT_THAT(comparison.notes,
              ElementsAre("cpu/t1..cpu/t1 doesn't pay: 256 images/s predicted, 0.46 times 2xcpu/t1; the stages wait 20 "
                          "% of the time, with 4 micro-batches, in which an image takes 1.89 times what it takes in a "
                          "whole batch"));
}

TEST(Compare, TriesStagesThatWereAskedForBesideTheirPrediction) {
  MadeUpProbe probe = two_cores();
  probe.steps["cpu/t1..cpu/t1"] = {0.02, 0.003};
  const Comparison comparison = compare_on(probe, "2xcpu/t1,cpu/t1..cpu/t1");
  const Row& stages = row_of(comparison, "cpu/t1..cpu/t1");
  EXPECT_EQ(stages.basis, Basis::kMeasured);
  EXPECT_NEAR(stages.images_per_s, 32 / 0.116, 1e-6);
  EXPECT_NEAR(stages.pipeline.value().predicted_images_per_s, 256, 1e-6);
  EXPECT_EQ(choice_of(comparison), "2xcpu/t1");
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("276 images/s measured, 256 predicted, 0.50 times 2xcpu/t1")));
}

TEST(Compare, ChoosesStagesThatPay) {
  MadeUpProbe probe = two_cores();
  probe.steps["cpu/t1..cpu/t1"] = {0.005, 0.001};
  probe.forecasts["cpu/t1..cpu/t1"] = {
      {{{0.003, 0.004}, {0.003, 0.004}}}, {0}, 4, parallel::PipelineSchedule::k1F1B, {700, 500}};
  const Comparison comparison = compare_on(probe, "auto");
  const Row& stages = row_of(comparison, "cpu/t1..cpu/t1");
  EXPECT_THAT(stages.pipeline.value().memory_bytes, ElementsAre(700, 500));
  EXPECT_EQ(stages.memory_bytes, 1200);
  EXPECT_EQ(choice_of(comparison), "cpu/t1..cpu/t1");
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("cpu/t1..cpu/t1 pays:")));
}

TEST(Compare, PredictsReplicasOfStagesByTheSlowestAndTheExchange) {
  MadeUpProbe probe;
  probe.between = {0.01, 0};
  probe.forecasts["2xcpu/t1..cpu/t1"] = {
      {{{0.01, 0.015}, {0.01, 0.015}}, {{0.01, 0.015}, {0.01, 0.015}}}, {0, 0}, 2, parallel::PipelineSchedule::k1F1B};
  const Comparison comparison = compare_on(probe, "2xcpu/t1..cpu/t1", 15, small_work(), 4);
  EXPECT_THAT(row_of(comparison, "2xcpu/t1..cpu/t1").refusal, HasSubstr("no memory")) << "what fails is refused";
  probe.steps["2xcpu/t1..cpu/t1"] = {1, 1};
  const Comparison tried = compare_on(probe, "2xcpu/t1..cpu/t1", 3, small_work(), 4);
  const Row& row = row_of(tried, "2xcpu/t1..cpu/t1");
  EXPECT_NEAR(row.pipeline.value().predicted_images_per_s, 32 / (3 * 0.025 + 3 * 0.01), 1e-3);
}

TEST(Compare, TellsWhyLayersOfStagesCouldNotBeTimed) {
  MadeUpProbe probe = two_cores();
  probe.forecasts.clear();
  EXPECT_THAT(row_of(compare_on(probe, "auto"), "cpu/t1..cpu/t1").refusal, HasSubstr("no layer of"));
}

Row row(const std::string& placement, double images_per_s, std::optional<double> noise = 0) {
  Row row;
  row.text = placement;
  row.plan = resolve(placement, machine_of(2), {}).plan.value();
  row.images_per_s = images_per_s;
  row.noise = noise;
  return row;
}

TEST(Choose, TakesTheSimplerOfTwoThatAreEquallyFast) {
  const RowChoice choice = choose({row("2xcpu/t1", 101), row("cpu/t2", 100), row("cpu/t1", 60)});
  EXPECT_EQ(choice.row, 1U);
  EXPECT_FALSE(choice.decided);
  EXPECT_EQ(choice.reason,
            "cpu/t2 is as fast as 2xcpu/t1 within the noise (1 % apart), and simpler: 1 process instead of 2");
}

TEST(Choose, TakesTheFewerThreadsOfTwoThatAreEquallyFast) {
  const RowChoice choice = choose({row("cpu/t2", 101), row("cpu/t1", 100)});
  EXPECT_EQ(choice.row, 1U);
  EXPECT_THAT(choice.reason, HasSubstr("1 thread instead of 2"));
}

TEST(Choose, CallsSpeedsEqualOnlyWithinTheNoise) {
  EXPECT_EQ(choose({row("2xcpu/t1", 104), row("cpu/t2", 100)}).row, 0U);
  EXPECT_EQ(choose({row("2xcpu/t1", 104, 0.03), row("cpu/t2", 100, 0.03)}).row, 1U);
}

TEST(Choose, NamesTheFastestWhereTheNoiseLetsItBeSeen) {
  const RowChoice choice = choose({row("2xcpu/t1", 108, 0.01), row("cpu/t2", 100, 0.01)});
  EXPECT_TRUE(choice.decided);
  EXPECT_EQ(choice.reason, "2xcpu/t1 is the fastest, 1.08 times cpu/t2");
}

TEST(Choose, TakesOneAndClaimsNothingWhereTheNoiseIsLargerThanTheDifference) {
  const RowChoice choice = choose({row("2xcpu/t1", 108, 0.53), row("cpu/t2", 100, 0.02), row("cpu/t1", 10, 0.01)});
  EXPECT_EQ(choice.row, 0U) << "the simplest may be much slower";
  EXPECT_FALSE(choice.decided);
  EXPECT_THAT(choice.reason, Not(HasSubstr("the fastest")));
  EXPECT_THAT(choice.reason,
              HasSubstr("1.08 times cpu/t2 as far as was measured, but the noise of +-53 % leaves open"));
}

TEST(Choose, TakesNoStagesThatMayBeAsSlowAsWhatHasNone) {
  const std::vector<Row> rows = {row("cpu/t1..cpu/t1", 110, std::nullopt), row("2xcpu/t1", 100, 0.01),
                                 row("cpu/t1", 60, 0.01)};
  const RowChoice choice = choose(rows);
  EXPECT_EQ(choice.row, 1U);
  EXPECT_FALSE(choice.decided);
  EXPECT_THAT(choice.reason,
              HasSubstr("2xcpu/t1 is the fastest, 1.67 times cpu/t1 without stages; cpu/t1..cpu/t1 was"));
  EXPECT_EQ(choose({row("cpu/t1..cpu/t1", 110, 0.01), row("2xcpu/t1", 100, 0.01)}).row, 0U);
  EXPECT_EQ(choose({row("cpu/t1..cpu/t1", 110, 0.3)}).row, 0U) << "nothing else can be used";
}

TEST(Choose, KnowsThatOneLookIsNotWithoutNoise) {
  const RowChoice choice = choose({row("2xcpu/t1", 108, std::nullopt), row("cpu/t2", 100, 0.01)});
  EXPECT_FALSE(choice.decided);
  EXPECT_TRUE(choose({row("2xcpu/t1", 150, std::nullopt), row("cpu/t2", 100, 0.01)}).decided);
}

TEST(StepBlocks, AreLongEnoughForWhatComesInBursts) {
  // Every tenth step is slow; a median of steps would not see it.
  std::vector<double> steps;
  for (int i = 0; i < 1000; ++i) steps.push_back(i % 10 == 9 ? 0.011 : 0.001);
  const std::vector<double> blocks = step_blocks(steps);
  EXPECT_GE(blocks.size(), 30U);
  for (const double step_s : blocks) EXPECT_NEAR(step_s, 0.002, 0.0005);
}

TEST(StepBlocks, OfFewStepsAreTheSteps) {
  const std::vector<double> steps = {0.01, 0.03, 0.011};
  EXPECT_EQ(step_blocks(steps), steps);
  EXPECT_TRUE(step_blocks({}).empty());
}

TEST(Compare, TellsTheNoiseOfWhatItMeasuredAndOfNothingElse) {
  MadeUpProbe probe = two_cores();
  probe.noise = 0.2;
  const Comparison noisy = compare_on(probe, "auto");
  EXPECT_GT(row_of(noisy, "2xcpu/t1").noise.value(), 0.1);
  EXPECT_FALSE(row_of(compare_on(probe, "cpu/t1", 0.3), "cpu/t1").noise.has_value()) << "too short for a whole batch";
}

TEST(Work, CountsWhatMicroBatchesExchangeAndHoldAtOnce) {
  if (module_status("torch").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the torch engine is not built";
  Work work;
  double memory_bytes = 0;
  TrainOptions options;
  options.model = "resnet20";
  options.engine = "torch";
  options.data.location = "synth:masks:400";
  options.data.width = options.data.height = 16;
  options.batch = 96;
  const auto find_work = [&] {
    TrainObserver observer;
    const PreparedTraining training(options, observer);
    work = work_of(Trials(training));
    placement::Plan two;
    two.replicas.resize(2, placement::PlanReplica{0, {placement::PlanStage{}}, {}});
    two.processes = {{.ranks = {0, 1}}};
    memory_bytes = work.memory_bytes(two);
  };
  find_work();
  const Work of_whole = work;
  const double of_whole_bytes = memory_bytes;
  EXPECT_EQ(of_whole.small_exchanges, 2 + 2 * 19) << "19 batch-norm layers";
  options.accumulate = 4;
  find_work();
  EXPECT_EQ(work.small_exchanges, 2 + 4 * 2 * 19);
  // Of each replica's 48 images of 16x16 pixels 12 are computed at once. A step keeps what each of the 19 convolutions
  // takes and gives: of an image about 2 x 47,104 values, and 8 % more for gaps.
  // In parts it keeps, besides, the gradients of those before: of 272,000 weights.
  const double kept_bytes = 2 * 47'104 * sizeof(float), gradient_bytes = 272'000 * sizeof(float);
  EXPECT_NEAR(of_whole_bytes - memory_bytes, 2 * ((48 - 12) * kept_bytes * 1.08 - gradient_bytes),
              0.05 * 72 * kept_bytes);
  options.local_batch_norm = true;
  find_work();
  EXPECT_EQ(work.small_exchanges, 2);
}

}  // namespace
}  // namespace evener::training
