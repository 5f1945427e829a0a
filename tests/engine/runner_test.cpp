// Runners: their outputs are those that a trainer evaluates by.
#include "engine/runner.h"

#include <gmock/gmock.h>

#include <cmath>

#include "base/error.h"
#include "base/module.h"
#include "base/simd_level.h"
#include "engine/batches_helpers.h"
#include "engine/best_class.h"
#include "network/init.h"
#include "network/zoo.h"

namespace evener {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kBatch = 3;

class RunnerTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    for (const char* name : {GetParam(), "torch"}) {  // the trainer that a runner is compared with is torch's
      if (module_status(name).state == ModuleState::kNotBuilt) GTEST_SKIP() << "the " << name << " engine is not built";
    }
    engine_ = engine::open_engine(GetParam());
    options_.batch = kBatch;
    options_.mean = {0.4F, 0.5F, 0.6F};
    options_.standard_deviation = {0.2F, 0.25F, 0.3F};
  }

  std::unique_ptr<engine::Runner> runner(const network::Network& network) const {
    return engine_->make_runner(network, network::initial_state(network, 1), options_);
  }

  std::unique_ptr<engine::Trainer> trainer(const network::Network& network, const std::string& output) const {
    engine::TrainerOptions options;
    options.mean = options_.mean;
    options.standard_deviation = options_.standard_deviation;
    options.criterion.terms.front().outputs = {output};
    return test::make_trainer(network, options);
  }

  /// The cross-entropy and the classes of an output are those of the trainer's evaluation.
  void expect_as_evaluated(const network::Network& network, const std::string& output, const HostTensor& scores,
                           const test::OwnedBatch& batch) const {
    const std::int64_t classes = scores.shape.at(1);
    ASSERT_EQ(scores.shape, (std::vector<std::int64_t>{kBatch, classes}));
    std::vector<std::int32_t> expected, found;
    const engine::Sums evaluation = trainer(network, output)->evaluate(batch.view(), &expected);
    double loss = 0;
    for (std::int64_t n = 0; n < kBatch; ++n) {
      const float* of_image = scores.floats() + n * classes;
      double sum = 0;
      for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(of_image[c]));
      loss += std::log(sum) - of_image[batch.labels[static_cast<std::size_t>(n)]];
      found.push_back(engine::best_class(of_image, classes));
    }
    EXPECT_NEAR(loss, evaluation.total("loss"), 1e-4 * loss) << output;
    EXPECT_EQ(found, expected) << output;
  }

  std::unique_ptr<engine::Engine> engine_;
  engine::RunnerOptions options_;
};

TEST_P(RunnerTest, ANetworkOfTheZooGivesWhatATrainerEvaluates) {
  const network::Network network = network::build("resnet20", {network::Shape{3, 32, 32}, 10});
  const auto batch = test::random_batch(kBatch, {3, 32, 32}, 10);
  const auto running = runner(network);
  running->start(std::span(batch.images));
  const TensorMap outputs = running->wait();
  ASSERT_EQ(outputs.size(), 1u);
  expect_as_evaluated(network, "output", outputs.at("output"), batch);
}

TEST_P(RunnerTest, OutputsHaveTheirNames) {
  const network::Network network = test::two_outputs({3, 6, 5}, 4);
  const auto batch = test::random_batch(kBatch, {3, 6, 5}, 4);
  const auto running = runner(network);
  running->start(std::span(batch.images));
  const TensorMap outputs = running->wait();
  ASSERT_EQ(outputs.size(), 2u);
  for (const auto& [name, values] : outputs) expect_as_evaluated(network, name, values, batch);
}

TEST_P(RunnerTest, FloatsAreTakenAsBytesAre) {
  const network::Network network = test::two_outputs({3, 6, 5}, 4);
  const auto batch = test::random_batch(kBatch, {3, 6, 5}, 4);
  const std::vector<float> pixels(batch.images.begin(), batch.images.end());
  const auto of_bytes = runner(network);
  of_bytes->start(std::span(batch.images));
  options_.values = engine::ImageValues::kFloats;
  const auto of_floats = runner(network);
  of_floats->start(std::span(pixels));
  EXPECT_LT(test::relative_distance(of_floats->wait(), of_bytes->wait()), 1e-6);
}

TEST_P(RunnerTest, SeveralCallsComeBackInTheirOrder) {
  options_.in_flight = 3;
  const network::Network network = test::small_resnet({3, 14, 12}, 5);
  const auto running = runner(network);
  std::vector<TensorMap> expected;
  std::vector<test::OwnedBatch> batches;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    batches.push_back(test::random_batch(kBatch, {3, 14, 12}, 5, seed));
    running->start(std::span(batches.back().images));
    expected.push_back(running->wait());
  }
  EXPECT_NE(expected[0], expected[1]);
  std::size_t waited = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    running->start(std::span(batches[i].images));
    if (i >= 2) {
      EXPECT_EQ(running->wait(), expected[waited++]);
    }
  }
  while (waited < expected.size()) EXPECT_EQ(running->wait(), expected[waited++]);
}

TEST_P(RunnerTest, MisuseIsAnError) {
  const network::Network network = test::two_outputs({3, 6, 5}, 4);
  const auto batch = test::random_batch(kBatch, {3, 6, 5}, 4);
  const auto running = runner(network);
  EXPECT_THROW(running->wait(), Error);
  EXPECT_THROW(running->start(std::span(batch.images).first(10)), Error);
  running->start(std::span(batch.images));
  EXPECT_THROW(running->start(std::span(batch.images)), Error);
  EXPECT_EQ(running->wait().size(), 2u);
  TensorMap state = network::initial_state(network, 1);
  state.erase(state.begin());
  EXPECT_THROW(engine_->make_runner(network, state, options_), Error);
}

TEST_P(RunnerTest, WhatCanNotBeRunIsRefused) {
  const network::Network network = test::two_outputs({3, 6, 5}, 4);
  const auto refusal = [&](auto change) {
    engine::RunnerOptions options = options_;
    change(options);
    const std::string text = engine_->runner_refusal(network, options);
    if (!text.empty()) {
      EXPECT_THROW(engine_->make_runner(network, network::initial_state(network, 1), options), Error);
    }
    return text;
  };
  EXPECT_EQ(refusal([](auto&) {}), "");
  EXPECT_THAT(refusal([](auto& options) { options.device = {DeviceKind::kOpencl, 0}; }), HasSubstr("opencl"));
  EXPECT_THAT(refusal([](auto& options) { options.batch = 0; }), HasSubstr("one image"));
  EXPECT_THAT(refusal([](auto& options) { options.in_flight = 0; }), HasSubstr("one call"));
  if (module_status("native").state == ModuleState::kNotBuilt) return;
  EXPECT_THAT(engine::open_engine("native")->runner_refusal(network, options_), HasSubstr("no runner"));
}

TEST_P(RunnerTest, RunnersMadeTogetherGiveTheSame) {
  const network::Network network = test::small_resnet({3, 14, 12}, 5);
  const auto batch = test::random_batch(kBatch, {3, 14, 12}, 5);
  options_.threads = 2;
  const auto several = engine_->make_runners(network, network::initial_state(network, 1), options_, 2);
  ASSERT_EQ(several.size(), 2u);
  for (const auto& each : several) each->start(std::span(batch.images));
  EXPECT_LT(test::relative_distance(several[1]->wait(), several[0]->wait()), 1e-6);
}

TEST_P(RunnerTest, Bf16IsNearFp32) {
  const network::Network network = test::small_resnet({3, 14, 12}, 5);
  const auto batch = test::random_batch(kBatch, {3, 14, 12}, 5);
  const auto exact = runner(network);
  options_.precision = Precision::kBf16;
  const auto rounded = runner(network);
  exact->start(std::span(batch.images));
  rounded->start(std::span(batch.images));
  const TensorMap expected = exact->wait(), found = rounded->wait();
  // OpenVINO takes float32 where the processor has no AVX-512.
  if (GetParam() == std::string("torch") || simd_level() == SimdLevel::kAvx512) {
    EXPECT_NE(found, expected);
  }
  EXPECT_LT(test::relative_distance(found, expected), 0.05);
}

INSTANTIATE_TEST_SUITE_P(Engines, RunnerTest, testing::Values("torch", "openvino"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace evener
