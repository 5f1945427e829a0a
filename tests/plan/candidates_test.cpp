// The placements that are compared.
#include "plan/candidates.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "placement/machine.h"
#include "plan/made_up_machine.h"

namespace evener::plan {
namespace {

using test::machine_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

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

}  // namespace
}  // namespace evener::plan
