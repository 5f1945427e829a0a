// What runs on GPUs beside the steps of engine/device_test.cpp, on the late device, against the CPU.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "base/precision.h"
#include "engine/engine.h"
#include "late_device/late_helpers.h"
#include "network/init.h"
#include "network/passes/cut.h"

namespace evener {
namespace {

using engine::TrainerOptions;
using namespace test;

class LateTraining : public LateTest {};

TEST_F(LateTraining, AnMlpGetsTheCpusWeights) {
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const auto here = make_trainer(small_mlp(kColour, 5)), there = make_trainer(small_mlp(kColour, 5), on_gpu());
  steps(*here, batch, 8, kManySteps);
  steps(*there, batch, 8, kManySteps);
  EXPECT_LT(relative_distance(there->state(), here->state()), 1e-6);
}

TEST_F(LateTraining, ComputesInBfloat16AsTheCpuDoes) {
  TrainerOptions options;
  options.precision = Precision::kBf16;
  options.torch.like_accelerator = true;
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const auto here = make_trainer(small_resnet(kColour, 5), options),
             there = make_trainer(small_resnet(kColour, 5), on_gpu(options));
  steps(*here, batch, 8, kManySteps);
  steps(*there, batch, 8, kManySteps);
  EXPECT_LT(relative_distance(there->state(), here->state()), 1e-5);
}

TEST_F(LateTraining, GraphsDoWhatSingleKernelsDo) {
  TrainerOptions options;
  options.optimizer.momentum = 0.9;
  options.optimizer.clip_norm = 0.5;
  options.optimizer.average_decay = 0.9;
  TrainerOptions single = options;
  single.step_graph = false;
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const auto graph = make_trainer(small_resnet(kColour, 5), on_gpu(options)),
             kernels = make_trainer(small_resnet(kColour, 5), on_gpu(single));
  steps(*graph, batch, 8, 2 * kManySteps);
  steps(*kernels, batch, 8, 2 * kManySteps);
  EXPECT_LT(relative_distance(graph->state(), kernels->state()), 1e-6);
  EXPECT_LT(relative_distance(graph->optimizer_state(), kernels->optimizer_state()), 1e-6);
}

TEST_F(LateTraining, StagesComeToTheWholesGradients) {
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const network::Network network = small_resnet(kColour, 5);
  const TensorMap state = network::initial_state(network, 1);
  const auto whole = make_trainer(network, {}, state);
  whole->forward_backward(batch.view(), 1.0 / 8);
  const std::vector<network::NetworkStage> parts = network::cut(network, network::begins_of(network, {"conv2"}));
  for (const bool splits : {false, true}) {
    std::vector<std::unique_ptr<engine::Trainer>> trainers;
    for (int i = 0; i < 2; ++i) {
      TrainerOptions options = on_gpu();
      options.stage = {i, 2, splits};
      trainers.push_back(make_trainer(parts[static_cast<std::size_t>(i)].network, options, state));
      trainers.back()->clear_gradients();
    }
    engine::TrainsStage &first = *trainers[0]->capabilities().stage, &last = *trainers[1]->capabilities().stage;
    last.forward_stage(0, batch.view(), first.forward_stage(0, batch.view(), {}).sent);
    first.backward_stage(0, last.backward_stage(0, {}, 1.0 / 8), 0);
    for (engine::TrainsStage* stage : {&last, &first}) {
      if (splits) stage->weights_stage(0);
    }
    TensorMap gradients = trainers[0]->capabilities().exchange->gradients();
    gradients.merge(trainers[1]->capabilities().exchange->gradients());
    EXPECT_LT(relative_distance(gradients, exchange_of(*whole).gradients()), 1e-4);
    EXPECT_GT(first.peak_bytes(), 0);
  }
}

TEST_F(LateTraining, ARunnerAnswersAsOnTheCpu) {
  const network::Network network = small_resnet(kColour, 5);
  const TensorMap state = network::initial_state(network, 1);
  const auto torch = engine::open_engine("torch");
  engine::RunnerOptions options;
  options.batch = 4;
  options.in_flight = 2;
  const auto here = torch->make_runner(network, state, options);
  options.device = {DeviceKind::kCuda, 0};
  const auto there = torch->make_runner(network, state, options);
  const OwnedBatch batch = random_batch(8, kColour, 5);
  for (engine::Runner* runner : {here.get(), there.get()}) {
    for (const std::int64_t begin : {0, 4}) runner->start(batch.view(begin, begin + 4).images);
  }
  for (int call = 0; call < 2; ++call) {
    EXPECT_LT(relative_distance(there->wait(), here->wait()), 1e-5);
  }
}

TEST_F(LateTraining, MultipliesMatrices) {
  engine::MatrixOptions options;
  options.size = 48;
  const auto torch = engine::open_engine("torch");
  const auto here = torch->make_matrix_product(options);
  options.device = {DeviceKind::kCuda, 0};
  const auto there = torch->make_matrix_product(options);
  std::vector<float> a(48 * 48), b(48 * 48), expected(48 * 48), found(48 * 48);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = std::sin(static_cast<float>(i));
    b[i] = std::cos(static_cast<float>(i));
  }
  here->multiply(a, b, expected);
  const engine::MatrixTimes times = there->multiply(a, b, found);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-4);
  EXPECT_GT(times.product_s, 0);
}

}  // namespace
}  // namespace evener
