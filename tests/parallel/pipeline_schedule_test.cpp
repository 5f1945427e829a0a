// The order of a pipeline's tasks, and what the simulation makes of it.
#include "parallel/pipeline_schedule.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace evener::parallel {
namespace {

constexpr StageTask forward(int m) {
  return {false, m};
}
constexpr StageTask backward(int m) {
  return {true, m};
}

TEST(PipelineSchedule, OneForwardOneBackward) {
  EXPECT_THAT(stage_tasks(PipelineSchedule::k1F1B, 0, 3, 4),
              testing::ElementsAre(forward(0), forward(1), forward(2), backward(0), forward(3), backward(1),
                                   backward(2), backward(3)));
  EXPECT_THAT(stage_tasks(PipelineSchedule::k1F1B, 2, 3, 2),
              testing::ElementsAre(forward(0), backward(0), forward(1), backward(1)));
}

TEST(PipelineSchedule, GPipeKeepsAll) {
  EXPECT_THAT(stage_tasks(PipelineSchedule::kGPipe, 1, 2, 2),
              testing::ElementsAre(forward(0), forward(1), backward(0), backward(1)));
  EXPECT_EQ(most_kept(stage_tasks(PipelineSchedule::kGPipe, 1, 2, 7)), 7);
}

TEST(PipelineSchedule, OneForwardOneBackwardKeepsNoMoreThanTheStagesToCome) {
  for (int stages = 1; stages <= 6; ++stages) {
    for (int micro_batches = 1; micro_batches <= 9; ++micro_batches) {
      for (int stage = 0; stage < stages; ++stage) {
        const auto tasks = stage_tasks(PipelineSchedule::k1F1B, stage, stages, micro_batches);
        EXPECT_EQ(tasks.size(), 2u * static_cast<unsigned>(micro_batches));
        EXPECT_EQ(most_kept(tasks), std::min(micro_batches, stages - stage));
      }
    }
  }
}

TEST(PipelineSchedule, EqualStagesWaitAsTheFormulaSays) {
  for (const auto schedule : {PipelineSchedule::k1F1B, PipelineSchedule::kGPipe}) {
    for (int p = 1; p <= 4; ++p) {
      for (const int m : {1, 2, 8}) {
        const std::vector<StageTimes> stages(static_cast<std::size_t>(p), StageTimes{1, 2});
        const SimulatedStep step = simulate_step(schedule, stages, m);
        EXPECT_NEAR(step.bubble, (p - 1.0) / (m + p - 1), 1e-12);
        EXPECT_NEAR(step.seconds, 3.0 * (m + p - 1), 1e-12);
      }
    }
  }
}

TEST(PipelineSchedule, TheSlowestStageDecides) {
  // Stage 1 works from 1 s on, without a break: 4 times 6 s; then stage 0 goes backward once more.
  const SimulatedStep step = simulate_step(PipelineSchedule::k1F1B, std::vector<StageTimes>{{1, 2}, {2, 4}}, 4);
  EXPECT_DOUBLE_EQ(step.seconds, 1 + 4 * 6 + 2);
  EXPECT_DOUBLE_EQ(step.bubble, 1 - (4 * 3 + 4 * 6) / (2 * 27.0));
  EXPECT_DOUBLE_EQ(step.stages[1].back().to_s, 25);
}

TEST(PipelineSchedule, KnowsItsNames) {
  EXPECT_EQ(parse_pipeline_schedule("gpipe"), PipelineSchedule::kGPipe);
  EXPECT_THROW(parse_pipeline_schedule("zb"), UsageError);
}

}  // namespace
}  // namespace evener::parallel
