// The order of a pipeline's tasks, and what the simulation makes of it.
#include "parallel/pipeline_schedule.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace evener::parallel {
namespace {

constexpr StageTask forward(int m) {
  return {PassKind::kForward, m};
}
constexpr StageTask backward(int m) {
  return {PassKind::kBackward, m};
}
constexpr StageTask weights(int m) {
  return {PassKind::kWeights, m};
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

TEST(PipelineSchedule, ZeroBubbleComesToTheWeightsLaterOnLaterStages) {
  EXPECT_THAT(stage_tasks(PipelineSchedule::kZeroBubble, 0, 2, 3),
              testing::ElementsAre(forward(0), forward(1), backward(0), weights(0), forward(2), backward(1), weights(1),
                                   backward(2), weights(2)));
  EXPECT_THAT(stage_tasks(PipelineSchedule::kZeroBubble, 1, 2, 3),
              testing::ElementsAre(forward(0), backward(0), forward(1), backward(1), weights(0), forward(2),
                                   backward(2), weights(1), weights(2)));
}

TEST(PipelineSchedule, ZeroBubbleDoesEachPassOnceInOrderAndKeepsNoMoreThanTheFirstStageOf1F1B) {
  for (int stages = 1; stages <= 6; ++stages) {
    for (int micro_batches = 1; micro_batches <= 9; ++micro_batches) {
      for (int stage = 0; stage < stages; ++stage) {
        const auto tasks = stage_tasks(PipelineSchedule::kZeroBubble, stage, stages, micro_batches);
        EXPECT_EQ(tasks.size(), 3u * static_cast<unsigned>(micro_batches));
        EXPECT_LE(most_kept(tasks), std::min(micro_batches, stages));
        int next[3] = {0, 0, 0};
        for (const StageTask& task : tasks) EXPECT_EQ(task.micro_batch, next[static_cast<int>(task.kind)]++);
      }
    }
  }
}

TEST(PipelineSchedule, ASplitBackwardPassWaitsNoLongerThan1F1B) {
  for (const auto& [weights_s, unequal] : {std::pair(0.25, 0.0), {1.0, 0.0}, {1.0, 0.3}, {1.5, 0.4}, {3.0, 0.0}}) {
    for (int p = 1; p <= 4; ++p) {
      for (const int m : {1, 2, 4, 8, 16}) {
        std::vector<StageTimes> whole, split;
        for (int stage = 0; stage < p; ++stage) {
          const double speed = 1 + unequal * (stage * 5 % 3);
          split.push_back({1 / speed, 1 / speed, weights_s / speed});
          whole.push_back({1 / speed, (1 + weights_s) / speed});
        }
        const SimulatedStep one = simulate_step(PipelineSchedule::k1F1B, whole, m);
        const SimulatedStep zero = simulate_step(PipelineSchedule::kZeroBubble, split, m);
        EXPECT_LE(zero.bubble, one.bubble + 1e-12) << p << " stages, " << m << " micro-batches, " << weights_s << " s";
        EXPECT_TRUE(p == 1 || zero.seconds < one.seconds);
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
  EXPECT_EQ(parse_pipeline_schedule("zero-bubble"), PipelineSchedule::kZeroBubble);
  EXPECT_THROW(parse_pipeline_schedule("zb"), UsageError);
}

}  // namespace
}  // namespace evener::parallel
