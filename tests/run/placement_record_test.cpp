// What a record tells of where its replicas computed.
#include "run/metered_run.h"

#include <gmock/gmock.h>

namespace evener::run {
namespace {

using testing::ElementsAre;

placement::Plan mixed_plan() {
  placement::Plan plan;
  plan.text = "cpu/t6@0.5..cuda:1 + cpu/t2..cpu/t9";
  placement::PlanStage slow, gpu, two, nine;
  slow.threads = 6;
  slow.cpus = {4, 5, 6};
  slow.factor = 0.5;
  gpu.device = {DeviceKind::kCuda, 1};
  two.threads = 2;
  nine.threads = 9;
  plan.replicas.push_back({0, {slow, gpu}, 0.25});
  plan.replicas.push_back({1, {two, nine}, {}});
  return plan;
}

TEST(PlacementRecord, HasEachStageWithWhatIsKnownOfIt) {
  const record::PlacementRecord record = placement_record(mixed_plan());
  EXPECT_EQ(record.text, "cpu/t6@0.5..cuda:1 + cpu/t2..cpu/t9");
  ASSERT_EQ(record.replicas.size(), 2U);
  EXPECT_EQ(record.replicas[0].share, 0.25);
  EXPECT_FALSE(record.replicas[1].share);
  const record::StageRecord &slow = record.replicas[0].stages.at(0), &gpu = record.replicas[0].stages.at(1);
  EXPECT_EQ(slow.device, "cpu");
  EXPECT_EQ(slow.threads, 6);
  EXPECT_THAT(slow.cpus, ElementsAre(4, 5, 6));
  EXPECT_EQ(slow.emulated_speed, 0.5);
  EXPECT_EQ(gpu.device, "cuda:1");
  EXPECT_FALSE(gpu.threads) << "of a GPU the thread that drives it is none";
  EXPECT_FALSE(gpu.emulated_speed);
  EXPECT_FALSE(record.replicas[1].stages.at(0).emulated_speed) << "at full speed";
}

TEST(PlacementRecord, HasNoMoreThreadsThanAnEngineTakes) {
  record::PlacementRecord record = placement_record(mixed_plan());
  limit_threads(record, 5);
  EXPECT_EQ(record.replicas[0].stages[0].threads, 5);
  EXPECT_FALSE(record.replicas[0].stages[1].threads);
  EXPECT_EQ(record.replicas[1].stages[0].threads, 2);
  EXPECT_EQ(record.replicas[1].stages[1].threads, 5);
}

}  // namespace
}  // namespace evener::run
