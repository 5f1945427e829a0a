// The native engine: every way of computing a perceptron comes to what its plain loops do. Equality with PyTorch is
// golden_test.cpp's matter.
#include <gmock/gmock.h>

#include <limits>
#include <ostream>

#include "base/cpu.h"
#include "base/module.h"
#include "base/precision.h"
#include "engine/batches_helpers.h"
#include "network/init.h"
#include "network/zoo.h"

namespace evener {
namespace {

using engine::KernelChoice;
using engine::TrainerOptions;
using namespace test;

/// float32 sums of a few hundred terms in another order.
constexpr double kRounding = 2e-6;
/// Operands with 8 bits, errors averaged over many terms; seen: 0.005 to 0.02.
constexpr double kBf16Rounding = 0.05;

struct Case {
  std::string model;
  data::ImageShape shape;
  std::int64_t batch;
  int threads;
};

void PrintTo(const Case& value, std::ostream* out) {
  *out << value.model << " batch " << value.batch << " threads " << value.threads;
}

std::unique_ptr<engine::Trainer> native(const network::Network& network, const TrainerOptions& options = {},
                                        const TensorMap& state = {}) {
  return make_trainer(network, options, state, "native");
}

TrainerOptions naive(TrainerOptions options = {}) {
  options.native.kernels = KernelChoice::kNaive;
  options.threads = 1;
  return options;
}

/// Also where there are fewer CPUs: the engine then takes no more threads than it is given CPUs.
void set_threads(TrainerOptions& options, int threads) {
  options.threads = threads;
  options.cpus.clear();
  const std::vector<int>& allowed = cpu_topology().allowed;
  if (static_cast<std::size_t>(threads) <= allowed.size()) return;
  for (std::size_t thread = 0; thread < static_cast<std::size_t>(threads); ++thread) {
    options.cpus.push_back(allowed[thread % allowed.size()]);
  }
}

bool has_bf16(const network::Network& network) {
  TrainerOptions options;
  options.precision = Precision::kBf16;
  return engine::open_engine("native")->trainer_refusal(network, options).empty();
}

class NativeTest : public EngineTest<kNative> {};

network::Network mlp(const std::string& model, data::ImageShape shape) {
  return network::build(model, {.input = network::Shape{shape.channels, shape.height, shape.width}});
}

class NativeCase : public EngineTest<kNative, testing::TestWithParam<Case>> {};

TEST_P(NativeCase, GradientsAndEvaluationsAreThoseOfPlainLoops) {
  const auto& [model, shape, count, threads] = GetParam();
  const network::Network network = mlp(model, shape);
  const auto classes = static_cast<int>(network.output_shape().front());
  const OwnedBatch batch = random_batch(count, shape, classes);
  for (const auto precision : {Precision::kFp32, Precision::kBf16}) {
    if (precision == Precision::kBf16 && !has_bf16(network)) continue;
    TrainerOptions options;
    set_threads(options, threads);
    options.precision = precision;
    options.criterion = network::cross_entropy(0.1);
    options.mean.assign(static_cast<std::size_t>(shape.channels), 0.4F);
    options.standard_deviation.assign(static_cast<std::size_t>(shape.channels), 0.3F);
    TrainerOptions plain = naive(options);
    plain.precision = Precision::kFp32;
    const auto reference = native(network, plain), trainer = native(network, options);
    const double weight = 1.0 / static_cast<double>(count);
    const double tolerance = precision == Precision::kFp32 ? kRounding : kBf16Rounding;
    // A larger batch after a smaller one, and the other way round: what is left of the other must not matter.
    for (const std::int64_t samples : {count / 2 + 1, count, count / 2 + 1}) {
      const auto expected = reference->forward_backward(batch.view(0, samples), weight);
      const auto found = trainer->forward_backward(batch.view(0, samples), weight);
      EXPECT_NEAR(found.total("loss"), expected.total("loss"), tolerance * expected.total("loss"));
      EXPECT_EQ(found.count("loss"), samples);
      EXPECT_LT(relative_distance(exchange_of(*trainer).gradients(), exchange_of(*reference).gradients()), tolerance);
    }
    std::vector<std::int32_t> expected_classes{-1}, classes_found{-1};
    const auto expected = reference->evaluate(batch.view(), &expected_classes);
    const auto found = trainer->evaluate(batch.view(), &classes_found);
    EXPECT_NEAR(found.total("loss"), expected.total("loss"), tolerance * expected.total("loss"));
    if (precision == Precision::kFp32) {
      EXPECT_EQ(found.total("correct"), expected.total("correct"));
      EXPECT_EQ(classes_found, expected_classes);
    }
    EXPECT_EQ(classes_found.size(), static_cast<std::size_t>(count) + 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, NativeCase,
                         testing::Values(Case{"mlp:784-256-10", {1, 28, 28}, 64, 1},
                                         Case{"mlp:784-256-10", {1, 28, 28}, 64, 2},
                                         Case{"mlp:35-70-5:tanh", {1, 5, 7}, 7, 1},  // nothing divides evenly
                                         Case{"mlp:35-70-33-5:sigmoid", {1, 5, 7}, 13, 3},
                                         Case{"mlp:36-97-130-80:relu", {3, 4, 3}, 65, 2},  // several panels, channels
                                         Case{"mlp:16-3", {1, 4, 4}, 5, 2},                // one layer
                                         Case{"mlp:9-1-2", {1, 3, 3}, 1, 4}));             // more threads than anything

TEST_F(NativeTest, AStepIsGradientsAndTheirUpdate) {
  const data::ImageShape shape{1, 12, 10};
  const network::Network network = mlp("mlp:120-70-33-5", shape);
  const OwnedBatch batch = random_batch(21, shape, 5);
  for (const auto precision : {Precision::kFp32, Precision::kBf16}) {
    if (precision == Precision::kBf16 && !has_bf16(network)) continue;
    for (const bool nesterov : {false, true}) {
      for (const double momentum : {0.0, 0.9}) {
        if (nesterov && momentum == 0) continue;
        TrainerOptions options;
        options.precision = precision;
        options.threads = 2;
        options.optimizer.momentum = momentum;
        options.optimizer.nesterov = nesterov;
        options.optimizer.weight_decay = 0.01;
        options.optimizer.average_decay = 0.99;
        const auto together = native(network, options), apart = native(network, options);
        for (int i = 0; i < 4; ++i) {
          const engine::Sums found = together->step(batch.view(), 1.0 / 21, 0.1).sums;
          const auto expected = apart->forward_backward(batch.view(), 1.0 / 21);
          apart->apply(0.1);
          EXPECT_NEAR(found.total("loss"), expected.total("loss"), kRounding * expected.total("loss"));
        }
        EXPECT_LT(relative_distance(together->state(), apart->state()), kRounding);
        EXPECT_LT(relative_distance(together->optimizer_state(), apart->optimizer_state()), kRounding);
      }
    }
  }
}

/// Noise with a bright stripe that tells the class.
OwnedBatch striped_batch(std::int64_t count, data::ImageShape shape, int classes) {
  OwnedBatch batch = random_batch(count, shape, classes);
  const std::size_t stripe = shape.bytes() / static_cast<std::size_t>(classes);
  for (std::size_t i = 0; i < batch.images.size(); ++i) {
    const std::size_t sample = i / shape.bytes(), place = i % shape.bytes();
    const bool bright = place / stripe == static_cast<std::size_t>(batch.labels[sample]);
    batch.images[i] = static_cast<std::uint8_t>(batch.images[i] / 2 + (bright ? 64 : 0));
  }
  return batch;
}

// The digits of 100 steps: rounding errors grow as the weights move, so the tolerance is wider than for one step.
TEST_F(NativeTest, LossesOfAHundredStepsAgree) {
  const data::ImageShape shape{1, 28, 28};
  const network::Network network = mlp("mlp:784-64-10", shape);
  const OwnedBatch data = striped_batch(256, shape, 10);
  const auto losses = [&](const TrainerOptions& options) {
    const auto trainer = native(network, options);
    std::vector<double> list;
    for (int i = 0; i < 100; ++i) {
      const std::int64_t begin = i % 4 * 64;
      list.push_back(trainer->step(data.view(begin, begin + 64), 1.0 / 64, 0.1).sums.total("loss") / 64);
    }
    return list;
  };
  const std::vector<double> expected = losses(naive());
  EXPECT_LT(expected.back(), 0.2 * expected.front());
  const auto expect_near = [&](const TrainerOptions& options, double tolerance) {
    const std::vector<double> found = losses(options);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(found[i], expected[i], tolerance * expected[i]) << "step " << i << ", threads " << options.threads;
    }
  };
  TrainerOptions options;
  for (const int threads : {1, 2, 3}) {
    set_threads(options, threads);
    expect_near(options, 1e-4);
  }
  if (!has_bf16(network)) return;
  options.precision = Precision::kBf16;
  expect_near(options, 0.05);
}

TEST_F(NativeTest, GradientsOfPartsAddUpAndAnEmptyBatchGivesZeros) {
  const data::ImageShape shape{1, 12, 10};
  const network::Network network = mlp("mlp:120-40-5", shape);
  const OwnedBatch batch = random_batch(11, shape, 5);
  for (const auto kernels : {KernelChoice::kSimd, KernelChoice::kNaive}) {
    TrainerOptions options;
    options.native.kernels = kernels;
    const auto trainer = native(network, options);
    std::vector<std::string> ready;
    exchange_of(*trainer).on_gradient_ready(
        [&](std::size_t index) { ready.push_back(exchange_of(*trainer).trained_parameters()[index]); });
    trainer->forward_backward(batch.view(), 1.0 / 11);
    EXPECT_THAT(ready, testing::ElementsAre("2.bias", "2.weight", "0.bias", "0.weight"));
    const TensorMap whole = exchange_of(*trainer).gradients();
    trainer->clear_gradients();
    trainer->add_gradients(batch.view(0, 0), 1.0 / 11);
    for (std::size_t i = 0; i < 4; ++i) {
      for (const float value : exchange_of(*trainer).gradient(i)) ASSERT_EQ(value, 0.0F);
    }
    EXPECT_EQ(ready.size(), 8u);
    trainer->add_gradients(batch.view(0, 8), 1.0 / 11);
    trainer->add_gradients(batch.view(8, 11), 1.0 / 11);
    EXPECT_LT(relative_distance(exchange_of(*trainer).gradients(), whole), kRounding);
  }
}

TEST_F(NativeTest, ALossThatIsNotFiniteLeavesTheWeights) {
  const data::ImageShape shape{1, 4, 4};
  const network::Network network = mlp("mlp:16-20-3", shape);
  TensorMap state = network::initial_state(network, 1);
  state.at("2.bias").floats()[1] = std::numeric_limits<float>::quiet_NaN();
  const OwnedBatch batch = random_batch(6, shape, 3);
  for (const auto kernels : {KernelChoice::kSimd, KernelChoice::kNaive}) {
    TrainerOptions options;
    options.native.kernels = kernels;
    options.optimizer.momentum = 0.9;
    const auto trainer = native(network, options, state);
    const TensorMap optimizer = trainer->optimizer_state();
    EXPECT_FALSE(trainer->step(batch.view(), 1.0 / 6, 0.1).finite);
    EXPECT_EQ(trainer->state().at("0.weight"), state.at("0.weight"));
    EXPECT_EQ(trainer->state().at("2.weight"), state.at("2.weight"));
    EXPECT_EQ(trainer->optimizer_state(), optimizer);
  }
}

TEST_F(NativeTest, ItsCheckpointsAreThoseOfTheTorchEngine) {
  if (module_status("torch").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the torch engine is not built";
  const data::ImageShape shape{1, 12, 10};
  const network::Network network = mlp("mlp:120-40-5", shape);
  const OwnedBatch batch = random_batch(11, shape, 5);
  TrainerOptions options;
  options.optimizer.momentum = 0.9;
  options.optimizer.average_decay = 0.9;
  options.optimizer.clip_norm = 0.1;  // below the norm of these gradients
  options.optimizer.weight_decay = 0.02;
  const auto ours = native(network, options), theirs = make_trainer(network, options);
  for (int i = 0; i < 3; ++i) {
    for (engine::Trainer* trainer : {ours.get(), theirs.get()}) trainer->step(batch.view(), 1.0 / 11, 0.1);
  }
  EXPECT_LT(relative_distance(ours->state(), theirs->state()), kRounding);
  EXPECT_LT(relative_distance(ours->optimizer_state(), theirs->optimizer_state()), 2 * kRounding);
  const auto resumed = native(network, options, theirs->state());
  resumed->load_optimizer_state(theirs->optimizer_state());
  EXPECT_EQ(resumed->state(), theirs->state());
  EXPECT_EQ(resumed->optimizer_state(), theirs->optimizer_state());
  resumed->capabilities().average->swap_average();
  EXPECT_EQ(resumed->state().at("0.weight"), theirs->optimizer_state().at("0.weight.average"));
}

TEST_F(NativeTest, FrozenParametersStay) {
  const data::ImageShape shape{1, 4, 4};
  network::Network network = mlp("mlp:16-20-3", shape);
  network.freeze({"0.weight", "2.bias"});
  const OwnedBatch batch = random_batch(6, shape, 3);
  for (const auto kernels : {KernelChoice::kSimd, KernelChoice::kNaive}) {
    TrainerOptions options;
    options.native.kernels = kernels;
    const auto trainer = native(network, options);
    EXPECT_THAT(exchange_of(*trainer).trained_parameters(), testing::ElementsAre("0.bias", "2.weight"));
    const TensorMap before = trainer->state();
    trainer->step(batch.view(), 1.0 / 6, 0.1);
    const TensorMap after = trainer->state();
    for (const char* name : {"0.weight", "2.bias"}) EXPECT_EQ(after.at(name), before.at(name)) << name;
    for (const char* name : {"0.bias", "2.weight"}) EXPECT_NE(after.at(name), before.at(name)) << name;
  }
}

}  // namespace
}  // namespace evener
