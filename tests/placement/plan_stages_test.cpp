// Plans of several stages and hosts: which rank is what, who shares a process, which shares are theirs.
#include <gmock/gmock.h>

#include "base/thrown.h"
#include "placement/fake_machine.h"
#include "placement/machine.h"
#include "placement/plan.h"

namespace evener::placement::plan_stages {
namespace {

using test::fake_machine;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Ranks = std::vector<std::vector<int>>;

Plan planned(const std::string& text, const test::MachineShape& shape = {}, const PlanOptions& options = {}) {
  return make_plan(parse(text), fake_machine(shape), options);
}

Ranks processes_of(const Plan& plan) {
  Ranks ranks;
  for (const PlanProcess& process : plan.processes) ranks.push_back(process.ranks);
  return ranks;
}

std::vector<double> shares_of(const Plan& plan) {
  std::vector<double> shares;
  for (const PlanReplica& replica : plan.replicas) shares.push_back(replica.share.value_or(-1));
  return shares;
}

std::string refusal(const std::string& text, const PlanOptions& options = {}) {
  return test::thrown_by<UsageError>([&] { planned(text, {}, options); }, "it was planned");
}

PlanOptions with_shares(const std::string& rule) {
  PlanOptions options;
  options.shares = parse_share_rule(rule);
  return options;
}

TEST(StagesOfReplicas, AreNumberedReplicaByReplica) {
  const Plan plan = planned("cpu/t1..cpu/t2..cpu/t3+cpu/t4..cpu/t5..cpu/t6", {.cores = 32});
  EXPECT_EQ(stage_count(plan), 3);
  EXPECT_EQ(rank_count(plan), 6);
  std::vector<int> threads;
  std::vector<std::string> names;
  for (int rank = 0; rank < rank_count(plan); ++rank) {
    threads.push_back(stage_of(plan, rank).threads);
    names.push_back(rank_text(plan, rank));
  }
  EXPECT_THAT(threads, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(names[0], "rank 0, stage 0 of replica 0");
  EXPECT_EQ(names[2], "rank 2, stage 2 of replica 0");
  EXPECT_EQ(names[4], "rank 4, stage 1 of replica 1");
  EXPECT_THROW(stage_of(plan, 6), std::out_of_range);
  EXPECT_EQ(stage_count(Plan{}), 1);
  EXPECT_EQ(rank_count(Plan{}), 0);
}

TEST(StagesOfReplicas, OfOtherNumbersAreRefusedAtTheGroupThatDiffers) {
  const std::string why = refusal("cpu/t1..cpu/t1+cpu/t1..cpu/t1+cpu/t1..cpu/t1..cpu/t1");
  EXPECT_THAT(why, HasSubstr("equally many stages, and the first one has 2"));
  EXPECT_THAT(why, HasSubstr("cpu/t1..cpu/t1..cpu/t1"));
  EXPECT_EQ(refusal("2xcpu/t1..cpu/t1+cpu/t2..cpu/t2"), "it was planned");
}

TEST(StagesOfReplicas, HaveSharesThatAreGivenOrEqual) {
  EXPECT_THAT(shares_of(planned("cpu/t1..cpu/t2+cpu/t2..cpu/t1")), ElementsAre(0.5, 0.5)) << "unlike, and not measured";
  EXPECT_THAT(refusal("2xcpu/t1..cpu/t1", with_shares("measured")),
              HasSubstr("--shares measured is for replicas of one"));
  EXPECT_THAT(refusal("cpu/t1..cpu/t1", with_shares("measured")),
              HasSubstr("--shares measured is for replicas of one"));
  EXPECT_THAT(shares_of(planned("2xcpu/t1..cpu/t1", {}, with_shares("3:1"))), ElementsAre(0.75, 0.25));
  EXPECT_THAT(shares_of(planned("3xcpu/t1", {}, with_shares("2:1:5"))), ElementsAre(0.25, 0.125, 0.625));
  EXPECT_THAT(refusal("cpu/t1", with_shares("2:1")), HasSubstr("has 1 replica here"));
}

TEST(ProcessesOfStages, AreOneEachUnlessTheyAreAskedToBeThreads) {
  EXPECT_EQ(processes_of(planned("2xcpu/t1..cpu/t1")), (Ranks{{0}, {1}, {2}, {3}}));
  PlanOptions threads;
  threads.replicas = ReplicasAs::kThreads;
  EXPECT_EQ(processes_of(planned("2xcpu/t1..cpu/t1", {}, threads)), (Ranks{{0, 1, 2, 3}}));
  EXPECT_EQ(processes_of(planned("cuda:0..cpu", {.gpus = 1})), (Ranks{{0}, {1}})) << "two stages are no pair";
  EXPECT_EQ(processes_of(planned("cuda:0..cpu/t1+cpu/t1..cpu/t1", {.gpus = 1})), (Ranks{{0}, {1}, {2}, {3}}));
  EXPECT_EQ(processes_of(planned("cpu+cuda:0", {.gpus = 1})), (Ranks{{0, 1}})) << "in either order";
  EXPECT_EQ(processes_of(planned("cuda:0+cpu/t1+cpu/t1", {.gpus = 1})), (Ranks{{0}, {1}, {2}}));
}

TEST(PlansOnHosts, PutTheStagesOfAHostIntoOneProcess) {
  const std::string note = "on several hosts all stages of a host are threads of one process";
  const Plan staged = on_hosts(planned("2xcpu/t1..cpu/t2", {}, with_shares("3:1")), 2);
  EXPECT_EQ(processes_of(staged), (Ranks{{0, 1, 2, 3}}));
  EXPECT_THAT(staged.notes, ElementsAre(note));
  EXPECT_THAT(shares_of(staged), ElementsAre(0.375, 0.125, 0.375, 0.125));
  EXPECT_EQ(rank_count(staged), 8);
  EXPECT_EQ(stage_of(staged, 5).threads, 2);
  EXPECT_TRUE(has_other_hosts(staged));

  const Plan of_one = on_hosts(planned("2xcpu/t1..cpu/t2"), 1);
  EXPECT_EQ(processes_of(of_one), (Ranks{{0}, {1}, {2}, {3}})) << "one host needs no threads";
  EXPECT_THAT(of_one.notes, IsEmpty());
  EXPECT_FALSE(has_other_hosts(of_one));

  const Plan plain = on_hosts(planned("3xcpu/t1"), 2);
  EXPECT_EQ(processes_of(plain), (Ranks{{0}, {1}, {2}})) << "one stage each";
  EXPECT_THAT(plain.notes, IsEmpty());
  EXPECT_TRUE(has_other_hosts(plain));
  std::vector<int> ranks;
  for (const PlanReplica& replica : plain.replicas) ranks.push_back(replica.rank);
  EXPECT_THAT(ranks, ElementsAre(0, 1, 2, 3, 4, 5));

  PlanOptions threads;
  threads.replicas = ReplicasAs::kThreads;
  EXPECT_THAT(on_hosts(planned("cpu/t1..cpu/t2", {}, threads), 2).notes, IsEmpty()) << "they were threads anyway";
}

TEST(PlansOnHosts, MeasuredSharesStayMeasured) {
  EXPECT_THAT(shares_of(on_hosts(planned("cpu/t1+cpu/t2"), 2)), ElementsAre(-1, -1, -1, -1));
}

TEST(PlansWithoutAReplica, KeepTheOthersOfAProcess) {
  PlanOptions options = with_shares("1:2:5");
  options.replicas = ReplicasAs::kThreads;
  const Plan plan = without_replica(planned("3xcpu/t1", {}, options), 0);
  EXPECT_EQ(processes_of(plan), (Ranks{{0, 1}}));
  EXPECT_THAT(shares_of(plan), ElementsAre(testing::DoubleEq(2.0 / 7), testing::DoubleEq(5.0 / 7)));
}

TEST(UsesAccelerator, LooksAtEachStage) {
  EXPECT_FALSE(uses_accelerator(planned("cpu/t1..cpu/t1").replicas[0]));
  EXPECT_TRUE(uses_accelerator(planned("cpu/t1..cuda", {.gpus = 1}).replicas[0]));
  EXPECT_TRUE(uses_accelerator(planned("cuda..cpu/t1", {.gpus = 1}).replicas[0]));
}

TEST(CpuThreads, AreAddedUpToTheCores) {
  EXPECT_EQ(cpu_threads(planned("cpu/t1..cpu/t3+cpu/t2..cpu/t1", {.cores = 8})), 7);
  EXPECT_EQ(cpu_threads(planned("cpu/t5..cpu/t6", {.cores = 8})), 8) << "no more than there are";
  EXPECT_EQ(cpu_threads(planned("cuda:0+cpu/t3", {.cores = 8, .gpus = 1})), 3) << "the GPU's own thread isn't one";
  EXPECT_EQ(cpu_threads(planned("cuda:0", {.cores = 8, .gpus = 1})), 8);
}

TEST(Copies, FillTheCpusAndAreAtLeastOne) {
  const auto copies = [](const std::string& text, const test::MachineShape& shape, const PlanOptions& options = {}) {
    return planned(text, shape, options).replicas.size();
  };
  EXPECT_EQ(copies("4xcpu/t2", {.cores = 6}), 3U);
  EXPECT_EQ(copies("4xcpu/t2", {.cores = 7}), 3U) << "no part of one";
  EXPECT_EQ(copies("4xcpu/t2", {.cores = 8}), 4U);
  EXPECT_EQ(copies("4xcpu/t2", {.cores = 3, .threads_per_core = 2}), 3U) << "second hardware threads are CPUs";
  EXPECT_EQ(copies("4xcpu/t2", {.cores = 8, .quota_cpus = 5}), 2U);
  EXPECT_EQ(copies("4xcpu/t1..cpu/t2", {.cores = 7}), 2U) << "the threads of all stages";
  EXPECT_EQ(copies("2xcpu/t9", {.cores = 4}), 1U);
  EXPECT_EQ(copies("4xcpu", {.cores = 3}), 3U) << "at least one thread each";
  EXPECT_EQ(copies("4xcpu/t2", {.cores = 6}, {.oversubscribe = true}), 4U);
  EXPECT_EQ(copies("4xcpu/t2", {.cores = 6}, with_shares("1:2:3:4")), 4U);
  EXPECT_EQ(copies("4xcpu/t2", {.cores = 6}, with_shares("equal")), 3U);
  EXPECT_THAT(planned("4xcpu/t2", {.cores = 6}).fallbacks, ElementsAre(HasSubstr("3 of 4 replicas: there are 6 CPUs")));
  EXPECT_THAT(planned("4xcpu/t1", {.cores = 1}).fallbacks, ElementsAre(HasSubstr("1 of 4 replicas: there is 1 CPU,")));
}

TEST(FastestCores, AreToldWhereTheyAreFewerThanTheJobs) {
  Machine machine = fake_machine({.cores = 8});
  EXPECT_EQ(fastest_cores(machine), std::nullopt) << "no kinds are known";
  machine.cpu.kinds.resize(2);
  machine.cpu.kinds[0].cores = 3;
  machine.cpu.kinds[1].cores = 5;
  EXPECT_EQ(fastest_cores(machine), 3);
  machine.cores = 3;
  EXPECT_EQ(fastest_cores(machine), std::nullopt) << "a quota";
  machine.cores = 4;
  EXPECT_EQ(fastest_cores(machine), 3);
}

TEST(Factors, AndThreadsHaveBoundsOfTheirOwn) {
  const auto refused = [](const std::string& text) {
    try {
      parse(text);
    } catch (const UsageError&) {
      return true;
    }
    return false;
  };
  EXPECT_EQ(parse("cpu@0.001").replicas[0].stages[0].factor, 0.001);
  EXPECT_EQ(parse("cpu@.25").replicas[0].stages[0].factor, 0.25);
  EXPECT_EQ(parse("cpu@0.999").replicas[0].stages[0].factor, 0.999);
  for (const char* text : {"cpu@1.0", "cpu@0", "cpu@0.0", "cpu@1", "cpu@-0.5", "cpu@0.5.5", "cpu/t0", "0xcpu",
                           "cpu/t99999999999", "99999999999xcpu"}) {
    EXPECT_TRUE(refused(text)) << text;
  }
}

}  // namespace
}  // namespace evener::placement::plan_stages
