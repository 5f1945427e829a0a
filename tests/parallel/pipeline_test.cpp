// Stages pass every sample's values on, forward and backward, whatever the order of the schedule.
#include "parallel/pipeline.h"

#include <gmock/gmock.h>

#include <chrono>
#include <map>
#include <numeric>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "parallel/launcher.h"

namespace evener::parallel {
namespace {

using engine::StageValues;

/// So many replicas of so many stages, as threads of this process.
placement::Plan threads_of(int replicas, int stages) {
  placement::Plan plan;
  plan.text = "stages";
  plan.processes.emplace_back();
  for (int r = 0; r < replicas; ++r) {
    plan.replicas.push_back({r, std::vector<placement::PlanStage>(static_cast<std::size_t>(stages)), 1.0});
  }
  plan.processes[0].ranks.resize(static_cast<std::size_t>(replicas * stages));
  std::iota(plan.processes[0].ranks.begin(), plan.processes[0].ranks.end(), 0);
  return plan;
}

StageValues values_in_memory(std::vector<float> values) {
  auto memory = std::make_shared<std::vector<float>>(std::move(values));
  return {*memory, memory};
}

/// A sample's value is its number, to which each stage but the last adds 1, and the loss is the sum of what arrives.
/// Two values go on for each sample: it, and its negative.
class AddingStage : public engine::TrainsStage {
 public:
  explicit AddingStage(engine::StageOfNetwork place) : place_(place) {}

  Passed forward_stage(int micro_batch, const data::Batch& part, std::vector<StageValues> received) override {
    EXPECT_TRUE(under_way_.emplace(micro_batch, part.count).second);
    most_ = std::max(most_, under_way_.size());
    return pass(part, received);
  }
  std::vector<StageValues> backward_stage(int micro_batch, std::vector<StageValues> gradients, double weight) override {
    const auto found = under_way_.find(micro_batch);
    EXPECT_NE(found, under_way_.end());
    std::vector<float> values(static_cast<std::size_t>(found->second), static_cast<float>(weight));
    if (!place_.splits_backward) under_way_.erase(found);
    if (!place_.is_last()) values.assign(gradients.at(0).values.begin(), gradients.at(0).values.end());
    double& gradient = place_.splits_backward ? left_[micro_batch] : gradient_;
    gradient = std::accumulate(values.begin(), values.end(), gradient);
    if (place_.is_first()) return {};
    return {values_in_memory(values), values_in_memory(values)};
  }
  void weights_stage(int micro_batch) override {
    EXPECT_EQ(under_way_.erase(micro_batch), 1u);
    gradient_ += left_.at(micro_batch);
    left_.erase(micro_batch);
  }
  Passed evaluate_stage(const data::Batch& part, std::vector<StageValues> received,
                        std::vector<std::int32_t>* predicted) override {
    if (predicted != nullptr && place_.is_last()) predicted->resize(predicted->size() + part.samples.size());
    return pass(part, received);
  }
  std::int64_t peak_bytes() const override { return 0; }

  double gradient() const { return gradient_; }
  std::size_t most_under_way() const { return most_; }

 private:
  Passed pass(const data::Batch& part, const std::vector<StageValues>& received) const {
    std::vector<float> values(part.samples.begin(), part.samples.end());
    if (!place_.is_first()) values.assign(received.at(0).values.begin(), received.at(0).values.end());
    if (place_.is_last()) {
      return {{}, engine::classification_sums(std::accumulate(values.begin(), values.end(), 0.0), 0, part.count)};
    }
    std::vector<float> negative;
    for (float& value : values) negative.push_back(-++value);
    return {{values_in_memory(values), values_in_memory(negative)}, {}};
  }

  const engine::StageOfNetwork place_;
  std::map<int, std::int64_t> under_way_;
  std::map<int, double> left_;  // gradients of the weights, by micro-batch
  std::size_t most_ = 0;
  double gradient_ = 0;
};

class PipelineOf : public testing::TestWithParam<std::tuple<int, int, PipelineSchedule>> {};

TEST_P(PipelineOf, EverySampleGoesForwardAndBackwardOnce) {
  const auto [replicas, stages, schedule] = GetParam();
  constexpr int kSamples = 23, kMicroBatches = 5;
  const auto body = [&, stages = stages, schedule = schedule](const RankContext& context) {
    Channels channels = context.channels();
    const engine::StageOfNetwork place{context.rank % stages, stages, splits_backward(schedule)};
    AddingStage trainer(place);
    Throttle throttle(1);
    StageOptions options;
    options.micro_batches = kMicroBatches;
    options.share = kSamples;
    options.schedule = schedule;
    if (!place.is_first()) options.received = {1, 1};
    if (!place.is_last()) options.sent = {1, 1};
    Pipeline pipeline(trainer, place, options, channels, throttle);
    std::vector<std::uint32_t> samples(kSamples);
    std::iota(samples.begin(), samples.end(), static_cast<std::uint32_t>(100 * (context.rank / stages)));
    const double numbers = std::accumulate(samples.begin(), samples.end(), 0.0) + (stages - 1) * kSamples;
    data::Batch share;
    share.count = kSamples;
    share.samples = samples;
    const std::vector<std::int32_t> labels(kSamples, 0);
    share.targets = data::ClassTargets{labels};
    int final = 0;
    for (int step = 1; step <= 3; ++step) {
      const engine::Sums sums = pipeline.train(share, 0.5, [&final] { ++final; });
      pipeline.end_step();
      EXPECT_EQ(final, step);
      EXPECT_NEAR(trainer.gradient(), 0.5 * kSamples * step, 1e-9);
      EXPECT_NEAR(sums.total("loss"), place.is_last() ? numbers : 0, 1e-6);
    }
    std::vector<std::int32_t> predicted;
    const engine::Sums sums = pipeline.evaluate(share, &predicted);
    EXPECT_NEAR(sums.total("loss"), place.is_last() ? numbers : 0, 1e-6);
    EXPECT_EQ(predicted.size(), place.is_last() ? kSamples : 0);
    EXPECT_EQ(pipeline.work().steps, 2);  // the first one is left out
    EXPECT_EQ(static_cast<std::size_t>(pipeline.work().most_kept), trainer.most_under_way());
    const int most = schedule == PipelineSchedule::k1F1B    ? stages - place.number
                     : schedule == PipelineSchedule::kGPipe ? kMicroBatches
                                                            : stages;
    EXPECT_LE(trainer.most_under_way(), static_cast<std::size_t>(most));
    channels.control->barrier();
    return std::string("done");
  };
  EXPECT_THAT(run_ranks(threads_of(replicas, stages), body, LaunchOptions{}), testing::Each("done"));
}

INSTANTIATE_TEST_SUITE_P(Pipelines, PipelineOf,
                         testing::Combine(testing::Values(1, 2), testing::Values(2, 3, 4),
                                          testing::Values(PipelineSchedule::k1F1B, PipelineSchedule::kGPipe,
                                                          PipelineSchedule::kZeroBubble)));

/// Its calls return at once: a made-up device, which then takes a known time for each pass.
class LateStage : public AddingStage {
 public:
  using AddingStage::AddingStage;

  Passed forward_stage(int micro_batch, const data::Batch& part, std::vector<StageValues> received) override {
    left_.push_back(PassKind::kForward);
    return AddingStage::forward_stage(micro_batch, part, std::move(received));
  }
  std::vector<StageValues> backward_stage(int micro_batch, std::vector<StageValues> gradients, double weight) override {
    left_.push_back(PassKind::kBackward);
    return AddingStage::backward_stage(micro_batch, std::move(gradients), weight);
  }
  void weights_stage(int micro_batch) override {
    left_.push_back(PassKind::kWeights);
    AddingStage::weights_stage(micro_batch);
  }
  void wait_for_stage() override {
    for (const PassKind kind : std::exchange(left_, {})) {
      const Stopwatch clock;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      worked_s_[kind] += clock.seconds();
    }
  }

  std::size_t passes_left() const { return left_.size(); }
  /// By its own clock, since the last call.
  std::map<PassKind, double> take_worked_s() { return std::exchange(worked_s_, {}); }

 private:
  std::vector<PassKind> left_;  // that the device was given and nobody waited for
  std::map<PassKind, double> worked_s_;
};

TEST(PipelineTimes, AreTheDevicesWhereCallsReturnBeforeIt) {
  const auto body = [](const RankContext& context) {
    Channels channels = context.channels();
    const engine::StageOfNetwork place{context.rank, 2, true};
    LateStage trainer(place);
    Throttle throttle(1);
    StageOptions options;
    options.micro_batches = 3;
    options.share = 6;
    options.schedule = PipelineSchedule::kZeroBubble;
    if (!place.is_first()) options.received = {1, 1};
    if (!place.is_last()) options.sent = {1, 1};
    Pipeline pipeline(trainer, place, options, channels, throttle);
    const std::vector<std::uint32_t> samples(6, 0);
    const std::vector<std::int32_t> labels(6, 0);
    data::Batch share;
    share.count = 6;
    share.samples = samples;
    share.targets = data::ClassTargets{labels};
    for (int step = 0; step < 2; ++step) {
      trainer.take_worked_s();  // the first step is left out
      pipeline.train(share, 1, [] {});
      EXPECT_EQ(trainer.passes_left(), 0U);
      pipeline.end_step();
    }
    const auto worked_s = trainer.take_worked_s();
    EXPECT_EQ(worked_s.size(), 3U);
    const StageWork& work = pipeline.work();
    for (const auto& [kind, seconds] : worked_s) {
      EXPECT_GE(kind == PassKind::kForward    ? work.forward_s
                : kind == PassKind::kBackward ? work.backward_s
                                              : work.weights_s,
                seconds)
          << static_cast<int>(kind);
    }
    channels.control->barrier();
    return std::string("done");
  };
  EXPECT_THAT(run_ranks(threads_of(1, 2), body, LaunchOptions{}), testing::Each("done"));
}

TEST(PipelineFigures, AreThoseOfTheSimulationWhereTasksTakeTheirMeans) {
  StageWork work;
  work.steps = 2;
  work.micro_batches = 8;
  work.step_s = 20;
  work.forward_s = 4;
  work.backward_s = 8;
  const auto figures = pipeline_figures(PipelineSchedule::k1F1B, std::vector{work, work}, 2);
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->micro_batches, 4);
  EXPECT_DOUBLE_EQ(figures->bubble, 1 - 24.0 / 40);
  EXPECT_DOUBLE_EQ(figures->simulated_bubble, 1.0 / 5);
  EXPECT_DOUBLE_EQ(figures->simulated_step_s, 5 * 1.5);
  EXPECT_DOUBLE_EQ(figures->step_s, 10);
  EXPECT_FALSE(pipeline_figures(PipelineSchedule::k1F1B, std::vector{work, StageWork{}}, 2));
}

}  // namespace
}  // namespace evener::parallel
