// What a planner tries, concludes and says, on made-up machines.
#include "plan/planner.h"

#include <gmock/gmock.h>

#include "plan/made_up_machine.h"

namespace evener::plan {
namespace {

using test::machine_of;
using test::MadeUpProbe;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Work small_work() {
  Work work;
  work.train_images = 320;
  work.validation_images = 100;
  work.batch = 32;
  work.gradient_bytes = 1e6;
  work.small_exchanges = 2;
  work.fixed_bytes = 1000;
  work.per_image_bytes = 10;
  return work;
}

Comparison compare_on(MadeUpProbe& probe, const std::string& list, double seconds = 15,
                      const Work& work = small_work()) {
  const auto machine = machine_of(2);
  std::vector<Candidate> candidates;
  for (const auto& text : placements_of(list, machine)) candidates.push_back(resolve(text, machine, {}));
  return compare(candidates, work, probe, seconds, [](const std::string&) {});
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
  ASSERT_EQ(comparison.rows.size(), 3U);
  EXPECT_EQ(comparison.rows[0].text, "2xcpu/t1");
  EXPECT_EQ(comparison.rows[2].text, "cpu/t1");
  for (const Row& row : comparison.rows) EXPECT_EQ(row.basis, Basis::kMeasured) << row.text;
  EXPECT_NEAR(comparison.rows[0].images_per_s, 32 / (0.01 + 0.0015 * 32), 1e-6);
  EXPECT_NEAR(comparison.rows[0].train_s, 10 * 0.058, 1e-9);
  EXPECT_NEAR(comparison.rows[0].epoch_s(), 0.58 + 0.1, 1e-9);
  EXPECT_TRUE(comparison.notes.empty());
  EXPECT_EQ(comparison.energy_refusal, "made up");
  EXPECT_LE(comparison.seconds, 15.01);
}

TEST(Compare, CountsTheEnergyOfAnImageWhereThePowerIsKnown) {
  MadeUpProbe probe = two_cores();
  EXPECT_FALSE(compare_on(probe, "auto").rows[0].joules_per_image);
  probe.watts = 50;
  const Comparison comparison = compare_on(probe, "auto");
  EXPECT_NEAR(row_of(comparison, "cpu/t1").joules_per_image.value(), 50 * (0.01 + 0.003 * 32) / 32, 1e-9);
  EXPECT_NEAR(row_of(comparison, "2xcpu/t1").joules_per_image.value(), 50 * (0.01 + 0.0015 * 32) / 32, 1e-9);
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
  EXPECT_NEAR(group.memory_bytes, 2 * 1000 + 32 * 10, 1e-9);
  const Row& alone = row_of(comparison, "cpu/t2");
  EXPECT_FALSE(alone.ceiling || alone.reached);
  EXPECT_NEAR(alone.memory_bytes, 1000 + 32 * 10, 1e-9);
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
  EXPECT_THAT(compare_on(probe, "cpu/t1").notes, Contains(HasSubstr("--loader-threads 2")));
}

TEST(Compare, SaysThatOthersUsedTheMachine) {
  MadeUpProbe probe = two_cores();
  probe.others = 0.04;
  EXPECT_TRUE(compare_on(probe, "cpu/t1").notes.empty());
  probe.others = 0.31;
  EXPECT_THAT(compare_on(probe, "cpu/t1").notes, ElementsAre(HasSubstr("others used 31 % of the machine")));
}

TEST(Compare, PassesAnInterruptionOn) {
  class Stopped : public MadeUpProbe {
    Trial trial(const placement::Plan&, double) override { throw Interrupted("Ctrl-C"); }
  } probe;
  EXPECT_THROW(compare_on(probe, "cpu/t1"), Interrupted);
}

Row row(const std::string& placement, double images_per_s, double noise = 0) {
  Row row;
  row.text = placement;
  row.plan = resolve(placement, machine_of(2), {}).plan.value();
  row.images_per_s = images_per_s;
  row.noise = noise;
  return row;
}

TEST(Choose, TakesTheSimplerOfTwoThatAreEquallyFast) {
  const auto [best, reason] = choose({row("2xcpu/t1", 101), row("cpu/t2", 100), row("cpu/t1", 60)});
  EXPECT_EQ(best, 1U);
  EXPECT_EQ(reason, "cpu/t2 is as fast as 2xcpu/t1 within the noise (1 % apart), and simpler: 1 process instead of 2");
}

TEST(Choose, TakesTheFewerThreadsOfTwoThatAreEquallyFast) {
  const auto [best, reason] = choose({row("cpu/t2", 101), row("cpu/t1", 100)});
  EXPECT_EQ(best, 1U);
  EXPECT_THAT(reason, HasSubstr("1 thread instead of 2"));
}

TEST(Choose, CallsSpeedsEqualOnlyWithinTheNoise) {
  EXPECT_EQ(choose({row("2xcpu/t1", 104), row("cpu/t2", 100)}).first, 0U);
  EXPECT_EQ(choose({row("2xcpu/t1", 104, 0.02), row("cpu/t2", 100, 0.02)}).first, 1U);
  EXPECT_EQ(choose({row("2xcpu/t1", 108, 0.5), row("cpu/t2", 100, 0.5)}).first, 0U);  // never that far apart
}

TEST(TypicalStep, IsOfBlocksOfStepsWhereThereAreMany) {
  // Every tenth step is slow; a median of steps would not see it.
  std::vector<double> steps;
  for (int i = 0; i < 1000; ++i) steps.push_back(i % 10 == 9 ? 0.011 : 0.001);
  EXPECT_NEAR(typical_step(steps).first, 0.002, 0.0002);
  EXPECT_LT(typical_step(steps).second, 0.1);
}

TEST(TypicalStep, IsTheMedianOfFewSteps) {
  EXPECT_DOUBLE_EQ(typical_step({0.01, 0.03, 0.011}).first, 0.011);
  EXPECT_DOUBLE_EQ(typical_step({1.0, 1.2, 5.0}).first, 1.2);
  EXPECT_GT(typical_step({1.0, 1.2, 5.0}).second, 0.1);
  EXPECT_EQ(typical_step({}).first, 0);
}

}  // namespace
}  // namespace evener::plan
