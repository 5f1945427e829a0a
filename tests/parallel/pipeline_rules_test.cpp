// What a pipeline counts of its steps, and what is made of it: bounds, means over unequal stages, order in time.
#include <gmock/gmock.h>

#include <numeric>

#include "base/clock.h"
#include "parallel/launcher.h"
#include "parallel/pipeline.h"
#include "parallel/stage_line.h"

namespace evener::parallel {
namespace {

using testing::ElementsAre;

/// A stage that is the whole network: it keeps what it was asked for.
class LoneStage : public engine::TrainsStage {
 public:
  Passed forward_stage(int micro_batch, const data::Batch& part, std::vector<engine::StageValues>) override {
    calls.push_back("f" + std::to_string(micro_batch) + " of " + std::to_string(part.count));
    return {{}, engine::classification_sums(part.samples.front(), 0, part.count)};
  }
  std::vector<engine::StageValues> backward_stage(int micro_batch, std::vector<engine::StageValues>,
                                                  double weight) override {
    calls.push_back("b" + std::to_string(micro_batch));
    weights += weight;
    return {};
  }
  void weights_stage(int micro_batch) override { calls.push_back("w" + std::to_string(micro_batch)); }
  Passed evaluate_stage(const data::Batch& part, std::vector<engine::StageValues>,
                        std::vector<std::int32_t>* predicted) override {
    calls.push_back("e of " + std::to_string(part.count));
    if (predicted != nullptr) predicted->push_back(static_cast<std::int32_t>(part.samples.front()));
    return {{}, engine::classification_sums(part.samples.front(), 0, part.count)};
  }
  std::int64_t peak_bytes() const override { return 0; }

  std::vector<std::string> calls;
  double weights = 0;
};

class LonePipeline : public testing::Test {
 protected:
  LonePipeline() {
    options_.micro_batches = 3;
    options_.share = 12;
    std::iota(samples_.begin(), samples_.end(), 1U);
  }
  /// Of the first samples.
  data::Batch batch(std::int64_t count) const {
    data::Batch batch;
    batch.count = count;
    batch.samples = std::span(samples_).first(static_cast<std::size_t>(count));
    batch.targets = data::ClassTargets{std::span(labels_).first(static_cast<std::size_t>(count))};
    return batch;
  }

  LoneStage stage_;
  StageOptions options_;
  Channels channels_;
  Throttle throttle_{1};
  std::vector<std::uint32_t> samples_ = std::vector<std::uint32_t>(12);
  const std::vector<std::int32_t> labels_ = std::vector<std::int32_t>(12, 0);
};

TEST_F(LonePipeline, CountsWholeStepsAfterTheFirstOne) {
  const Stopwatch clock;
  Pipeline pipeline(stage_, {0, 1, false}, options_, channels_, throttle_);
  const auto step = [&](std::int64_t count) {
    pipeline.train(batch(count), 1, [] {});
    pipeline.end_step();
  };
  step(5);  // fewer parts: it is no whole step, not even the first one
  EXPECT_EQ(pipeline.work().steps, 0);
  step(12);
  EXPECT_EQ(pipeline.work().steps, 0) << "the first one makes what later ones reuse";
  EXPECT_EQ(pipeline.work().micro_batches, 0);
  step(12);
  ASSERT_EQ(pipeline.work().last_steps.size(), 1U);
  EXPECT_EQ(pipeline.work().last_steps.front().size(), 6U) << "none of the steps before";
  step(5);
  EXPECT_EQ(pipeline.work().steps, 1);
  EXPECT_EQ(pipeline.work().micro_batches, 3);
  for (int i = 0; i < 4; ++i) step(12);
  const StageWork& work = pipeline.work();
  EXPECT_EQ(work.steps, 5);
  EXPECT_EQ(work.micro_batches, 15);
  EXPECT_EQ(work.most_kept, 1);
  EXPECT_EQ(work.sent_bytes, 0);
  ASSERT_EQ(work.last_steps.size(), 3U);
  double last_s = 0, busy_s = 0;
  for (const auto& tasks : work.last_steps) {
    ASSERT_EQ(tasks.size(), 6U);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      EXPECT_EQ(tasks[i].kind, i % 2 == 0 ? PassKind::kForward : PassKind::kBackward);
      EXPECT_EQ(tasks[i].micro_batch, static_cast<std::int64_t>(i / 2));
      EXPECT_LE(last_s, tasks[i].from_s) << "the oldest first";
      EXPECT_LE(tasks[i].from_s, tasks[i].to_s);
      last_s = tasks[i].to_s;
      busy_s += tasks[i].to_s - tasks[i].from_s;
    }
  }
  EXPECT_GE(work.forward_s + work.backward_s, busy_s);
  EXPECT_GE(work.step_s, work.forward_s + work.backward_s);
  EXPECT_LE(work.step_s, clock.seconds());
  EXPECT_GT(work.forward_s, 0);
  EXPECT_GT(work.backward_s, 0);
  EXPECT_EQ(work.weights_s, 0);
}

TEST_F(LonePipeline, PassesEachPartOnceAndTellsTheLastBeforeIt) {
  options_.schedule = PipelineSchedule::kZeroBubble;
  Pipeline pipeline(stage_, {0, 1, true}, options_, channels_, throttle_);
  std::size_t told_after = 0;
  const engine::Sums sums = pipeline.train(batch(11), 0.25, [&] { told_after = stage_.calls.size(); });
  EXPECT_THAT(stage_.calls, ElementsAre("f0 of 3", "b0", "w0", "f1 of 4", "b1", "w1", "f2 of 4", "b2", "w2"));
  EXPECT_EQ(told_after, 8U);
  EXPECT_EQ(stage_.weights, 0.75);
  EXPECT_EQ(sums.total("loss"), 1 + 4 + 8) << "the first sample of each part";
  EXPECT_EQ(sums.count("loss"), 11);
  pipeline.end_step();
  pipeline.train(batch(12), 1, [] {});
  pipeline.end_step();
  EXPECT_GT(pipeline.work().weights_s, 0);
}

TEST_F(LonePipeline, EvaluatesTheSameParts) {
  Pipeline pipeline(stage_, {0, 1, false}, options_, channels_, throttle_);
  std::vector<std::int32_t> predicted;
  const engine::Sums sums = pipeline.evaluate(batch(12), &predicted);
  EXPECT_THAT(stage_.calls, ElementsAre("e of 4", "e of 4", "e of 4"));
  EXPECT_THAT(predicted, ElementsAre(1, 5, 9));
  EXPECT_EQ(sums.total("loss"), 15);
  EXPECT_EQ(sums.count("loss"), 12);
}

TEST_F(LonePipeline, AShareOfNothingIsNoStep) {
  Pipeline pipeline(stage_, {0, 1, false}, options_, channels_, throttle_);
  int told = 0;
  EXPECT_EQ(pipeline.train(batch(0), 1, [&] { ++told; }).entries().size(), 0U);
  pipeline.end_step();
  EXPECT_EQ(pipeline.evaluate(batch(0), nullptr).entries().size(), 0U);
  EXPECT_TRUE(stage_.calls.empty());
  EXPECT_EQ(told, 0);
}

TEST_F(LonePipeline, ALargerShareThanWasToldIsCutByItsOwnSize) {
  options_.share = 6;
  Pipeline pipeline(stage_, {0, 1, false}, options_, channels_, throttle_);
  pipeline.evaluate(batch(12), nullptr);
  EXPECT_EQ(stage_.calls.size(), 3U);
}

/// Sends two values of each sample on, and one gradient of each back.
class SendingStage : public LoneStage {
 public:
  explicit SendingStage(bool is_first) : is_first_(is_first) {}
  Passed forward_stage(int, const data::Batch& part, std::vector<engine::StageValues>) override {
    if (!is_first_) return {{}, engine::classification_sums(0, 0, part.count)};
    return {{of(2 * part.count), of(part.count)}, {}};
  }
  std::vector<engine::StageValues> backward_stage(int, std::vector<engine::StageValues>, double) override {
    if (is_first_) return {};
    return {of(2 * 4), of(4)};
  }

 private:
  static engine::StageValues of(std::int64_t count) {
    auto memory = std::make_shared<std::vector<float>>(static_cast<std::size_t>(count), 1.0F);
    return {*memory, memory};
  }
  const bool is_first_;
};

TEST(PipelineOfTwo, CountsTheBytesOfAllValuesThatGoOn) {
  placement::Plan plan;
  plan.text = "two";
  plan.replicas.push_back({0, std::vector<placement::PlanStage>(2), 1.0});
  plan.processes.push_back({{0, 1}});
  const auto body = [&](const RankContext& context) {
    Channels channels = context.channels();
    SendingStage stage(context.rank == 0);
    Throttle throttle(1);
    StageOptions options;
    options.micro_batches = 3;
    options.share = 12;
    (context.rank == 0 ? options.sent : options.received) = {2, 1};
    Pipeline pipeline(stage, {context.rank, 2, false}, options, channels, throttle);
    const std::vector<std::uint32_t> samples(12);
    const std::vector<std::int32_t> labels(12);
    data::Batch batch;
    batch.count = 12;
    batch.samples = samples;
    batch.targets = data::ClassTargets{labels};
    for (int step = 0; step < 3; ++step) {
      pipeline.train(batch, 1, [] {});
      pipeline.end_step();
    }
    EXPECT_EQ(pipeline.work().steps, 2);
    EXPECT_EQ(pipeline.work().sent_bytes, 2 * 12 * 3 * 4) << "of two steps, three numbers of each sample";
    EXPECT_EQ(pipeline.work().most_kept, context.rank == 0 ? 2 : 1);
    channels.control->barrier();
    return std::string();
  };
  run_ranks(plan, body, LaunchOptions{});
}

TEST(PipelineFiguresRules, AreMeansOverReplicasOfEachStagesOwnMicroBatches) {
  const auto work = [](double forward_s, double backward_s, double weights_s, double step_s) {
    StageWork each;
    each.steps = 2;
    each.micro_batches = 6;
    each.forward_s = forward_s;
    each.backward_s = backward_s;
    each.weights_s = weights_s;
    each.step_s = step_s;
    return each;
  };
  // Two replicas of two stages.
  const std::vector<StageWork> all = {work(6, 12, 18, 60), work(12, 18, 24, 61), work(18, 24, 6, 62),
                                      work(24, 6, 12, 63)};
  const auto figures = pipeline_figures(PipelineSchedule::kZeroBubble, all, 2);
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->micro_batches, 3);
  ASSERT_EQ(figures->stages.size(), 2U);
  EXPECT_DOUBLE_EQ(figures->stages[0].forward_s, 2);
  EXPECT_DOUBLE_EQ(figures->stages[0].backward_s, 3);
  EXPECT_DOUBLE_EQ(figures->stages[0].weights_s, 2);
  EXPECT_DOUBLE_EQ(figures->stages[1].forward_s, 3);
  EXPECT_DOUBLE_EQ(figures->stages[1].backward_s, 2);
  EXPECT_DOUBLE_EQ(figures->stages[1].weights_s, 3);
  EXPECT_DOUBLE_EQ(figures->step_s, 30.75);
  EXPECT_DOUBLE_EQ(figures->bubble, 1 - 180.0 / 246);
  const SimulatedStep step = simulate_step(PipelineSchedule::kZeroBubble, figures->stages, 3);
  EXPECT_DOUBLE_EQ(figures->simulated_step_s, step.seconds);
  EXPECT_DOUBLE_EQ(figures->simulated_bubble, step.bubble);
  EXPECT_NE(step.seconds, simulate_step(PipelineSchedule::kGPipe, figures->stages, 3).seconds);
  EXPECT_FALSE(pipeline_figures(PipelineSchedule::k1F1B, {}, 2));
}

TEST(SimulatedSteps, BeginTasksWhenTheStageIsFreeAndWhatTheyReadHasCome) {
  const std::vector<StageTimes> stages = {{1, 2, 4}, {3, 1, 2}};
  const SimulatedStep step = simulate_step(PipelineSchedule::kGPipe, stages, 2);
  ASSERT_EQ(step.stages.size(), 2U);
  const auto begins = [&](std::size_t stage) {
    std::vector<double> begins_s;
    for (const SimulatedStep::Task& task : step.stages[stage]) begins_s.push_back(task.from_s);
    return begins_s;
  };
  // Stage 0: forward at 0 and 1; stage 1: forward at 1 and 4, backward at 7 and 8; stage 0: backward at 8 and 10.
  EXPECT_THAT(begins(0), ElementsAre(0, 1, 8, 10));
  EXPECT_THAT(begins(1), ElementsAre(1, 4, 7, 8));
  EXPECT_EQ(step.stages[0].back().to_s, 12);
  EXPECT_EQ(step.seconds, 12);
  EXPECT_DOUBLE_EQ(step.bubble, 1 - (2 * 3 + 2 * 4) / 24.0);
}

TEST(SimulatedSteps, SplitBackwardPassesHaveTheirWeightsLater) {
  const SimulatedStep step =
      simulate_step(PipelineSchedule::kZeroBubble, std::vector<StageTimes>{{1, 2, 4}, {3, 1, 2}}, 1);
  // Stage 0: 0-1, and from 5 backward 2 and weights 4; stage 1: 1-4, backward 4-5, weights 5-7.
  EXPECT_EQ(step.seconds, 11);
  EXPECT_EQ(step.stages[1].back().to_s, 7);
  EXPECT_EQ(step.stages[1].back().task, (StageTask{PassKind::kWeights, 0}));
  EXPECT_DOUBLE_EQ(step.bubble, 1 - (7 + 6) / 22.0);
  EXPECT_EQ(simulate_step(PipelineSchedule::k1F1B, std::vector<StageTimes>{{}, {}}, 2).bubble, 0) << "no time at all";
}

TEST(PipelineSchedules, KeepTheirNames) {
  EXPECT_EQ(parse_pipeline_schedule("1f1b"), PipelineSchedule::k1F1B);
  EXPECT_STREQ(pass_text(PassKind::kForward), "forward");
  EXPECT_STREQ(pass_text(PassKind::kBackward), "backward");
  EXPECT_STREQ(pass_text(PassKind::kWeights), "weights");
  EXPECT_TRUE(splits_backward(PipelineSchedule::kZeroBubble));
  EXPECT_FALSE(splits_backward(PipelineSchedule::k1F1B));
  EXPECT_FALSE(splits_backward(PipelineSchedule::kGPipe));
}

TEST(MostKept, CountsUntilTheLastPassOfEach) {
  const auto task = [](PassKind kind, int micro_batch) { return StageTask{kind, micro_batch}; };
  using enum PassKind;
  EXPECT_EQ(most_kept(std::vector{task(kForward, 0), task(kForward, 1), task(kBackward, 0), task(kForward, 2),
                                  task(kBackward, 1), task(kBackward, 2)}),
            2);
  EXPECT_EQ(most_kept(std::vector{task(kForward, 0), task(kBackward, 0), task(kForward, 1), task(kBackward, 1),
                                  task(kForward, 2), task(kWeights, 0), task(kBackward, 2), task(kWeights, 1),
                                  task(kWeights, 2)}),
            3)
      << "one whose weights are to come is kept";
  EXPECT_EQ(most_kept({}), 0);
}

/// Gives back its number and what it was given.
class NumberedRunner : public engine::Runner {
 public:
  explicit NumberedRunner(int number) : number_(number) {}
  void start(const engine::ImageSpan& images) override {
    std::visit([this](const auto& values) { sum_ = std::accumulate(values.begin(), values.end(), 0.0F); }, images);
    is_bytes_ = std::holds_alternative<std::span<const std::uint8_t>>(images);
  }
  void start_stage(const std::vector<HostTensor>& received) override {
    sum_ = 0;
    is_bytes_ = false;
    for (const HostTensor& each : received) sum_ = 10 * sum_ + each.floats()[0];
  }
  TensorMap wait() override {
    TensorMap outputs;
    outputs["sum"] = HostTensor::of_floats({1}, {sum_});
    outputs["bytes"] = HostTensor::of_floats({1}, {is_bytes_ ? 1.0F : 0.0F});
    return outputs;
  }
  std::map<std::string, int> executed() const override {
    return {{"both", number_}, {"of " + std::to_string(number_), 1}};
  }

 private:
  const int number_;
  float sum_ = 0;
  bool is_bytes_ = false;
};

std::shared_ptr<StageLine> numbered_line() {
  std::vector<StageLine::Stage> stages(3);
  for (int s = 0; s < 3; ++s) {
    for (int runner = 0; runner <= s; ++runner) {
      stages[static_cast<std::size_t>(s)].runners.push_back(std::make_unique<NumberedRunner>(s + 2));
    }
    if (s < 2) stages[static_cast<std::size_t>(s)].sent = {"sum", "bytes"};
  }
  return std::make_shared<StageLine>(std::move(stages));
}

TEST(StageLineRules, WhatWasExecutedIsThatOfAllStagesTogether) {
  const auto lanes = StageLine::lanes(numbered_line(), 1);
  EXPECT_THAT(lanes.front()->executed(), ElementsAre(testing::Pair("both", 2 + 3 + 4), testing::Pair("of 2", 1),
                                                     testing::Pair("of 3", 1), testing::Pair("of 4", 1)));
}

TEST(StageLineRules, ImagesComeAsBytesOrAsFloats) {
  const auto lanes = StageLine::lanes(numbered_line(), 2);
  ASSERT_EQ(lanes.size(), 2U);
  const std::vector<std::uint8_t> bytes = {1, 2};
  const std::vector<float> floats = {4, 5};
  lanes[0]->start(std::span(bytes));
  lanes[1]->start(std::span(floats));
  EXPECT_EQ(lanes[0]->wait().at("sum").floats()[0], (3 * 10 + 1) * 10);
  EXPECT_EQ(lanes[1]->wait().at("sum").floats()[0], 9 * 10 * 10);
}

TEST(StageLineRules, WorkIsOfEachStagesRunnersAndGrows) {
  const auto line = numbered_line();
  const auto lanes = StageLine::lanes(line, 1);
  const std::vector<float> one = {1};
  double before_s = 0;
  for (int call = 1; call <= 3; ++call) {
    lanes[0]->start(std::span(one));
    lanes[0]->wait();
    const auto work = line->work();
    ASSERT_EQ(work.size(), 3U);
    for (std::size_t s = 0; s < 3; ++s) {
      EXPECT_EQ(work[s].runners, s + 1);
      EXPECT_EQ(work[s].calls, call);
    }
    EXPECT_GT(work[0].busy_s, before_s);
    before_s = work[0].busy_s;
  }
}

TEST(StageLineRules, CallsUnderWayAreAnsweredWhereTheLineIsHeldByTheirLanesAlone) {
  auto line = numbered_line();
  auto lanes = StageLine::lanes(line, 3);
  line.reset();
  const std::vector<float> one = {1};
  for (const auto& lane : lanes) lane->start(std::span(one));
  for (const auto& lane : lanes) EXPECT_EQ(lane->wait().at("sum").floats()[0], 100);
}

}  // namespace
}  // namespace evener::parallel
