// Replicas that keep weights, momentum and gradients in memory of all learn what one trainer learns.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/precision.h"
#include "engine/replicas_helpers.h"
#include "network/init.h"

namespace evener {
namespace {

using engine::OptimizerKind;
using engine::OptimizerOptions;
using namespace test;

const data::ImageShape kShape{3, 40, 40};
constexpr int kClasses = 5;
constexpr std::int64_t kBatch = 8;
constexpr double kRate = 0.05;

/// How the samples of a step are divided; -1: the replica is no member in this step.
using Division = std::vector<std::int64_t>;

struct Task {
  network::Network network;
  engine::TrainerOptions options;
  int parts = 1;  // that each share is computed in
};

OwnedBatch batch_of(std::size_t step) {
  return random_batch(kBatch, kShape, kClasses, 7 + step);
}

struct Learnt {
  TensorMap state, optimizer;
};

Learnt learnt_by(const engine::Trainer& trainer) {
  return {trainer.state(), trainer.optimizer_state()};
}

Learnt learn_alone(const Task& task, std::size_t steps) {
  const auto trainer = make_trainer(task.network, task.options);
  for (std::size_t step = 0; step < steps; ++step) {
    trainer->forward_backward(batch_of(step).view(), 1.0 / kBatch);
    trainer->apply(kRate);
  }
  return learnt_by(*trainer);
}

/// What each replica has in the end. Who comes back loads the state of replica 0.
std::vector<Learnt> learn_shared(const Task& task, const std::vector<Division>& divisions) {
  const std::size_t replicas = divisions.front().size();
  const auto engine = engine::open_engine("torch");
  std::vector<std::byte> memory(engine->shared_bytes(task.network, task.options, static_cast<int>(replicas)));
  EXPECT_GT(memory.size(), 0u);
  std::vector<Learnt> learnt(replicas);
  ThreadSums sums(replicas);
  const auto errors = on_threads(sums, replicas, [&](std::size_t r, const auto& sum) {
    const auto meet = [&] {
      double nothing = 0;
      sum({&nothing, 1});
    };
    engine::TrainerOptions own = task.options;
    own.sum_over_replicas = sum;
    own.shared.bytes = memory;
    own.shared.replica = static_cast<int>(r);
    own.shared.replicas = static_cast<int>(replicas);
    const auto trainer = make_trainer(task.network, own);
    EXPECT_TRUE(trainer->capabilities().shares_arrays());
    meet();
    for (std::size_t step = 0; step < divisions.size(); ++step) {
      const Division& division = divisions[step];
      std::vector<int> members;
      for (std::size_t i = 0; i < replicas; ++i) {
        if (division[i] >= 0) members.push_back(static_cast<int>(i));
      }
      if (step > 0 && division[r] >= 0 && divisions[step - 1][r] < 0) {
        trainer->load_state(learnt[0].state);
        trainer->load_optimizer_state(learnt[0].optimizer);
      }
      const auto first = division.begin();
      const auto add = [](std::int64_t sum, std::int64_t count) { return sum + std::max<std::int64_t>(count, 0); };
      const std::int64_t begin = std::accumulate(first, first + static_cast<std::ptrdiff_t>(r), std::int64_t{0}, add);
      const auto batch = batch_of(step);
      if (division[r] >= 0) {
        trainer->clear_gradients();
        for (std::int64_t part = 0; part < task.parts; ++part) {
          trainer->add_gradients(
              batch.view(begin + division[r] * part / task.parts, begin + division[r] * (part + 1) / task.parts),
              1.0 / kBatch);
        }
      }
      meet();
      if (division[r] >= 0) trainer->capabilities().sharing->apply_part(kRate, members);
      meet();
      learnt[r] = learnt_by(*trainer);
      meet();
    }
  });
  for (const auto& error : errors) EXPECT_EQ(error, "");
  return learnt;
}

class SharedParametersTest : public EngineTest<kTorch> {
 protected:
  static void expect_the_same(const Task& task, const std::vector<Division>& divisions) {
    const Learnt alone = learn_alone(task, divisions.size());
    const std::vector<Learnt> learnt = learn_shared(task, divisions);
    for (const Learnt& replica : learnt) {
      EXPECT_EQ(replica.state, learnt.front().state);
      EXPECT_EQ(replica.optimizer, learnt.front().optimizer);
    }
    // Sums in another order give 10^-7.
    EXPECT_LT(relative_distance(learnt.front().state, alone.state), 3e-6);
    if (!alone.optimizer.empty()) {
      EXPECT_LT(relative_distance(learnt.front().optimizer, alone.optimizer), 3e-5);
    }
  }
};

struct OptimizerCase {
  const char* name;
  OptimizerOptions options;
};

OptimizerCase sgd(const char* name, double momentum, bool nesterov, double weight_decay) {
  OptimizerOptions options;
  options.momentum = momentum;
  options.nesterov = nesterov;
  options.weight_decay = weight_decay;
  return {name, options};
}

OptimizerCase adamw() {
  OptimizerOptions options;
  options.kind = OptimizerKind::kAdamW;
  options.weight_decay = 0.1;
  options.epsilon = 1e-3;  // where a gradient is next to nothing, the step's direction is rounding
  return {"adamw", options};
}

class Optimizers : public SharedParametersTest, public testing::WithParamInterface<OptimizerCase> {};

// Convolutions with their channels last, and batch-norm over all samples.
TEST_P(Optimizers, StepsOfASmallResNet) {
  Task task{small_resnet(kShape, kClasses), {}};
  task.options.optimizer = GetParam().options;
  expect_the_same(task, {{5, 3}, {8, 0}, {1, 7}});
  expect_the_same(task, {{2, 3, 3}, {0, 8, 0}});
}

// Parts of more than one piece, each on two threads.
TEST_P(Optimizers, StepsOfAPerceptron) {
  Task task{small_mlp(kShape, kClasses), {}};
  task.options.threads = 2;
  task.options.optimizer = GetParam().options;
  expect_the_same(task, {{5, 3}, {8, 0}, {1, 7}});
}

INSTANTIATE_TEST_SUITE_P(All, Optimizers,
                         testing::Values(sgd("plain", 0, false, 0), sgd("momentum", 0.9, false, 0),
                                         sgd("nesterov", 0.9, true, 0.01), adamw()),
                         [](const auto& info) { return info.param.name; });

TEST_F(SharedParametersTest, GradientsOfSeveralPartsAddUp) {
  Task task{small_mlp(kShape, kClasses), {}};
  task.options.optimizer = sgd("", 0.9, false, 0).options;
  task.parts = 3;
  expect_the_same(task, {{4, 4}, {6, 2}, {8, 0}});
}

TEST_F(SharedParametersTest, OneThatWasAwayGoesOnWithTheOthers) {
  Task task{small_mlp(kShape, kClasses), {}};
  task.options.optimizer = adamw().options;  // whose steps count
  expect_the_same(task, {{3, 3, 2}, {5, -1, 3}, {8, -1, -1}, {2, 4, 2}});
}

TEST_F(SharedParametersTest, FrozenParametersStay) {
  Task task{small_resnet(kShape, kClasses), {}};
  task.network.freeze({"conv1.weight", "bn2.bias"});
  expect_the_same(task, {{5, 3}, {4, 4}});
}

// What others use at that moment is not written, what is its own is.
TEST_F(SharedParametersTest, OnlyTheFirstLoadsWhatIsShared) {
  const auto network = small_resnet(kShape, kClasses);
  const auto engine = engine::open_engine("torch");
  engine::TrainerOptions options;
  std::vector<std::byte> memory(engine->shared_bytes(network, options, 2));
  options.shared.bytes = memory;
  options.shared.replicas = 2;
  const auto first = make_trainer(network, options);
  const TensorMap before = first->state();
  options.shared.replica = 1;
  TensorMap other = network::initial_state(network, 2);
  other.at("bn1.running_mean").floats()[0] = 5;
  const auto second = make_trainer(network, options, other);
  EXPECT_EQ(first->state(), before);
  EXPECT_EQ(second->state().at("conv1.weight"), before.at("conv1.weight"));
  EXPECT_EQ(second->state().at("bn1.running_mean"), other.at("bn1.running_mean"));
}

TEST_F(SharedParametersTest, WhatNeedsAllGradientsAtOnceIsExchanged) {
  const auto engine = engine::open_engine("torch");
  const auto network = small_mlp(kShape, kClasses);
  const auto bytes = [&](const auto& change) {
    engine::TrainerOptions options;
    options.optimizer.momentum = 0.9;
    change(options);
    return engine->shared_bytes(network, options, 3);
  };
  // Values, momentum, and three times gradients, each parameter from a multiple of 64 on.
  EXPECT_EQ(bytes([](auto&) {}), (4800 * 16 + 64 + 128 + 64) * sizeof(float) * 5);
  EXPECT_GT(bytes([](auto& options) { options.precision = Precision::kBf16; }), 0u);
  EXPECT_EQ(bytes([](auto& options) { options.precision = Precision::kFp16; }), 0u);
  EXPECT_EQ(bytes([](auto& options) { options.optimizer.clip_norm = 1; }), 0u);
  EXPECT_EQ(bytes([](auto& options) { options.optimizer.average_decay = 0.9; }), 0u);
  EXPECT_EQ(bytes([](auto& options) { options.torch.like_accelerator = true; }), 0u);
  EXPECT_EQ(bytes([](auto& options) { options.device = {DeviceKind::kCuda, 0}; }), 0u);
}

}  // namespace
}  // namespace evener
