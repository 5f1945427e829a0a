// What the Trainer interface promises, on the torch engine. Equality with PyTorch is golden_test.cpp's matter.
#include <gmock/gmock.h>

#include <cmath>

#include "base/error.h"
#include "base/module.h"
#include "base/precision.h"
#include "engine/engine.h"
#include "engine/replicas_helpers.h"

namespace evener {
namespace {

using namespace test;

/// float32 sums of a few hundred terms in another order.
constexpr double kRounding = 2e-6;

const data::ImageShape kGrey{1, 12, 10};
const data::ImageShape kColour{3, 24, 20};

class TrainerTest : public EngineTest<kTorch> {};

TEST_F(TrainerTest, GradientsOfPartsAddUpToTheWhole) {
  const auto network = small_mlp(kGrey, 5);
  const auto batch = random_batch(11, kGrey, 5);
  const auto trainer = make_trainer(network);
  const auto whole = trainer->forward_backward(batch.view(), 1.0 / 11);
  const TensorMap expected = exchange_of(*trainer).gradients();

  auto sums = trainer->forward_backward(batch.view(0, 8), 1.0 / 11);
  TensorMap total = exchange_of(*trainer).gradients();
  sums += trainer->forward_backward(batch.view(8, 11), 1.0 / 11);
  add_to(total, exchange_of(*trainer).gradients());
  EXPECT_LT(relative_distance(total, expected), kRounding);
  EXPECT_NEAR(sums.total("loss"), whole.total("loss"), 1e-5 * whole.total("loss"));
  EXPECT_EQ(sums.total("correct"), whole.total("correct"));
  EXPECT_EQ(sums.count("loss"), 11);
}

TEST_F(TrainerTest, AnEmptyBatchGivesZeroGradientsAndCallsBack) {
  const auto trainer = make_trainer(small_resnet(kColour, 4));
  std::vector<std::size_t> ready;
  exchange_of(*trainer).on_gradient_ready([&](std::size_t index) { ready.push_back(index); });
  const auto sums = trainer->forward_backward(random_batch(2, kColour, 4).view(0, 0), 0.5);
  EXPECT_EQ(sums.count("loss"), 0);
  EXPECT_EQ(ready.size(), exchange_of(*trainer).trained_parameters().size());
  for (std::size_t i = 0; i < ready.size(); ++i) {
    for (const float value : exchange_of(*trainer).gradient(i)) ASSERT_EQ(value, 0.0f);
  }
}

TEST_F(TrainerTest, EachGradientIsReadyOnceLastLayersFirst) {
  const auto trainer = make_trainer(small_resnet(kColour, 4));
  std::vector<std::string> ready;
  exchange_of(*trainer).on_gradient_ready([&](std::size_t index) {
    for (const float value : exchange_of(*trainer).gradient(index)) EXPECT_TRUE(std::isfinite(value));
    ready.push_back(exchange_of(*trainer).trained_parameters()[index]);
  });
  trainer->forward_backward(random_batch(4, kColour, 4).view(), 0.25);
  EXPECT_THAT(ready, testing::UnorderedElementsAreArray(exchange_of(*trainer).trained_parameters()));
  EXPECT_THAT(ready.front(), testing::StartsWith("fc."));
  EXPECT_EQ(ready.back(), "conv1.weight");
}

TEST_F(TrainerTest, GradientsEqualFiniteDifferences) {
  const auto network = small_mlp({1, 3, 3}, 3);
  const auto batch = random_batch(6, {1, 3, 3}, 3);
  for (const auto& criterion : {network::cross_entropy(), network::mean_squared_error()}) {
    engine::TrainerOptions options;
    options.criterion = criterion;
    const auto trainer = make_trainer(network, options);
    trainer->forward_backward(batch.view(), 1.0);
    const TensorMap gradients = exchange_of(*trainer).gradients();
    const TensorMap state = trainer->state();
    for (const auto& [name, gradient] : gradients) {
      const std::int64_t last = element_count(gradient.shape) - 1;
      TensorMap moved = state;
      const float step = 1e-2f;
      moved.at(name).floats()[last] += step;
      trainer->load_state(moved);
      const double above = trainer->evaluate(batch.view()).total("loss");
      moved.at(name).floats()[last] -= 2 * step;
      trainer->load_state(moved);
      const double below = trainer->evaluate(batch.view()).total("loss");
      // Central differences: an error of step^2 times the third derivative, and rounding of the loss over the step.
      EXPECT_NEAR(gradient.floats()[last], (above - below) / (2 * step), 2e-3)
          << name << " " << network::criterion_text(criterion);
    }
  }
}

TEST_F(TrainerTest, TheStepIsSgdWithMomentumAndWeightDecay) {
  engine::TrainerOptions options;
  options.optimizer.momentum = 0.9;
  options.optimizer.weight_decay = 0.01;
  const auto trainer = make_trainer(small_mlp(kGrey, 5), options);
  const auto batch = random_batch(8, kGrey, 5);
  TensorMap expected = trainer->state();
  TensorMap velocity;
  for (int step = 0; step < 3; ++step) {
    trainer->forward_backward(batch.view(), 1.0 / 8);
    for (const auto& [name, gradient] : exchange_of(*trainer).gradients()) {
      auto [momentum, fresh] = velocity.try_emplace(name, gradient);
      float* weight = expected.at(name).floats();
      for (std::int64_t i = 0; i < element_count(gradient.shape); ++i) {
        const float slope = gradient.floats()[i] + 0.01f * weight[i];
        float& v = momentum->second.floats()[i];
        v = fresh ? slope : 0.9f * v + slope;
        weight[i] -= 0.1f * v;
      }
    }
    trainer->apply(0.1);
  }
  EXPECT_LT(relative_distance(trainer->state(), expected), kRounding);
}

TEST_F(TrainerTest, StateAndOptimizerStateContinueBitEqually) {
  engine::TrainerOptions options;
  options.optimizer.momentum = 0.9;
  const auto network = small_resnet(kColour, 4);
  const auto batch = random_batch(6, kColour, 4);
  const auto step = [&](engine::Trainer& trainer) {
    trainer.forward_backward(batch.view(), 1.0 / 6);
    trainer.apply(0.05);
  };
  const auto first = make_trainer(network, options);
  step(*first);
  const auto second = make_trainer(network, options);
  second->load_state(first->state());
  second->load_optimizer_state(first->optimizer_state());
  step(*first);
  step(*second);
  EXPECT_EQ(first->state(), second->state());
  EXPECT_EQ(first->optimizer_state(), second->optimizer_state());
  EXPECT_EQ(first->state().at("bn1.num_batches_tracked"), HostTensor::scalar_i64(2));
}

// As requires_grad=False in PyTorch: no gradient, no momentum, no weight decay, but running statistics go on.
TEST_F(TrainerTest, FrozenParametersStayAndTheOthersLearnAsBefore) {
  engine::TrainerOptions options;
  options.optimizer.momentum = 0.9;
  options.optimizer.weight_decay = 0.01;
  const auto network = small_resnet(kColour, 4);
  network::Network frozen = network;
  frozen.freeze({"conv1.weight", "bn1.weight", "bn1.bias"});
  const auto batch = random_batch(6, kColour, 4);
  const auto whole = make_trainer(network, options), part = make_trainer(frozen, options);
  EXPECT_EQ(exchange_of(*part).trained_parameters().size() + 3, exchange_of(*whole).trained_parameters().size());
  const TensorMap before = part->state();
  std::size_t ready = 0;
  exchange_of(*part).on_gradient_ready([&](std::size_t) { ++ready; });
  whole->forward_backward(batch.view(), 1.0 / 6);
  part->forward_backward(batch.view(), 1.0 / 6);
  EXPECT_EQ(ready, exchange_of(*part).trained_parameters().size());
  TensorMap expected = exchange_of(*whole).gradients();
  for (const char* name : {"conv1.weight", "bn1.weight", "bn1.bias"}) EXPECT_EQ(expected.erase(name), 1u) << name;
  EXPECT_LT(relative_distance(exchange_of(*part).gradients(), expected), kRounding);
  part->apply(0.1);
  part->forward_backward(batch.view(), 1.0 / 6);
  part->apply(0.1);
  const TensorMap after = part->state();
  for (const char* name : {"conv1.weight", "bn1.weight", "bn1.bias"})
    EXPECT_EQ(after.at(name), before.at(name)) << name;
  for (const char* name : {"bn1.running_mean", "fc.weight"}) EXPECT_NE(after.at(name), before.at(name)) << name;
  EXPECT_FALSE(part->optimizer_state().contains("conv1.weight.momentum"));
  EXPECT_EQ(part->optimizer_state().size(),
            exchange_of(*part).trained_parameters().size() + 1);  // and the count of steps
}

// Each image is then by itself: parts of a batch add up to the whole, and training computes what evaluation does.
TEST_F(TrainerTest, FrozenStatisticsAreTakenAndStay) {
  const auto batch = random_batch(6, kColour, 4);
  for (network::Network network : {small_resnet(kColour, 4), small_mobilenet(kColour, 4)}) {
    const auto before = make_trainer(network);  // whose statistics are those of some batch
    before->forward_backward(batch.view(), 1.0 / 6);
    const TensorMap state = before->state();
    network.freeze_statistics("");
    TensorMap gradients[2];
    for (const auto layout : {engine::MemoryLayout::kChannelsFirst, engine::MemoryLayout::kChannelsLast}) {
      engine::TrainerOptions options;
      options.torch.layout = layout;
      const auto trainer = make_trainer(network, options, state);
      const double loss = trainer->forward_backward(batch.view(), 1.0 / 6).total("loss");
      TensorMap& whole = gradients[layout == engine::MemoryLayout::kChannelsLast];
      whole = exchange_of(*trainer).gradients();
      EXPECT_NEAR(loss, trainer->evaluate(batch.view()).total("loss"), 1e-5 * loss) << network.model();
      trainer->forward_backward(batch.view(0, 2), 1.0 / 6);
      TensorMap parts = exchange_of(*trainer).gradients();
      trainer->forward_backward(batch.view(2, 6), 1.0 / 6);
      add_to(parts, exchange_of(*trainer).gradients());
      EXPECT_LT(relative_distance(parts, whole), 1e-5) << network.model();
      trainer->apply(0.1);
      for (const auto& [name, tensor] : trainer->state()) {
        const bool is_statistic =
            name.ends_with(".running_mean") || name.ends_with(".running_var") || name.ends_with(".num_batches_tracked");
        if (is_statistic) {
          EXPECT_EQ(tensor, state.at(name)) << name;
        }
      }
      EXPECT_NE(trainer->state().at("bn1.weight"), state.at("bn1.weight"));
    }
    EXPECT_LT(relative_distance(gradients[1], gradients[0]), 1e-5) << network.model();
  }
}

TEST_F(TrainerTest, EvaluationChangesNothing) {
  const auto trainer = make_trainer(small_resnet(kColour, 4));
  const auto batch = random_batch(6, kColour, 4);
  const TensorMap before = trainer->state();
  const auto once = trainer->evaluate(batch.view());
  const auto again = trainer->evaluate(batch.view());
  EXPECT_EQ(trainer->state(), before);
  EXPECT_EQ(once.total("loss"), again.total("loss"));
  EXPECT_EQ(once.total("correct"), again.total("correct"));
}

// Channels-last runs on our own kernels, channels-first on LibTorch's.
TEST_F(TrainerTest, LayoutsAgree) {
  const auto batch = random_batch(6, kColour, 4);
  for (const auto& network : {small_resnet(kColour, 4), small_mobilenet(kColour, 4)}) {
    TensorMap gradients[2], states[2];
    engine::Sums evaluations[2];
    for (const auto layout : {engine::MemoryLayout::kChannelsFirst, engine::MemoryLayout::kChannelsLast}) {
      engine::TrainerOptions options;
      options.torch.layout = layout;
      options.threads = 2;
      options.mean = {0.4f, 0.5f, 0.6f};
      options.standard_deviation = {0.2f, 0.25f, 0.3f};
      const auto trainer = make_trainer(network, options);
      const bool last = layout == engine::MemoryLayout::kChannelsLast;
      trainer->forward_backward(batch.view(), 1.0 / 6);
      gradients[last] = exchange_of(*trainer).gradients();
      states[last] = trainer->state();
      evaluations[last] = trainer->evaluate(batch.view());
    }
    EXPECT_LT(relative_distance(gradients[1], gradients[0]), 1e-4) << network.model();  // batch-norm amplifies rounding
    EXPECT_LT(relative_distance(states[1], states[0]), 1e-5) << network.model() << ": running statistics";
    EXPECT_NEAR(evaluations[1].total("loss"), evaluations[0].total("loss"), 1e-5 * evaluations[0].total("loss"))
        << network.model();
  }
}

TEST_F(TrainerTest, Bf16IsNearFp32) {
  const auto network = small_resnet(kColour, 4);
  const auto batch = random_batch(8, kColour, 4);
  engine::TrainerOptions options;
  const auto exact = make_trainer(network, options);
  options.precision = Precision::kBf16;
  const auto rounded = make_trainer(network, options);
  const double loss = exact->forward_backward(batch.view(), 1.0 / 8).total("loss");
  const double rounded_loss = rounded->forward_backward(batch.view(), 1.0 / 8).total("loss");
  EXPECT_NE(loss, rounded_loss);                 // it did compute in another precision
  EXPECT_NEAR(rounded_loss, loss, 0.02 * loss);  // 8 bits of mantissa, averaged over many terms
  EXPECT_LT(relative_distance(exchange_of(*rounded).gradients(), exchange_of(*exact).gradients()), 0.1);
}

TEST_F(TrainerTest, DropoutIsKeyedBySampleNotByPlace) {
  network::Network network("dropout", {1, 4, 4});
  network.add("flatten", network::Flatten{});
  network.add("dropout", network::Dropout{0.5});
  network.add("fc", network::Linear{3, true});
  const auto batch = random_batch(6, {1, 4, 4}, 3);
  const auto trainer = make_trainer(network);
  const double whole = trainer->forward_backward(batch.view(), 1.0).total("loss");
  double parts = 0;
  for (std::int64_t i = 0; i < 6; ++i) parts += trainer->forward_backward(batch.view(i, i + 1), 1.0).total("loss");
  EXPECT_NEAR(parts, whole, 1e-5 * whole);
  auto next_epoch = batch;
  next_epoch.epoch = 2;
  EXPECT_NE(trainer->forward_backward(next_epoch.view(), 1.0).total("loss"), whole);
  EXPECT_NE(trainer->evaluate(batch.view()).total("loss"), whole);
}

TEST_F(TrainerTest, RefusesForeignWeights) {
  const auto trainer = make_trainer(small_mlp(kGrey, 5));
  TensorMap state = trainer->state();
  state.at("0.bias") = HostTensor::of_floats({3}, {1, 2, 3});
  EXPECT_THAT([&] { trainer->load_state(state); },
              testing::ThrowsMessage<Error>(
                  testing::AllOf(testing::HasSubstr("0.bias"), testing::HasSubstr("3"), testing::HasSubstr("16"))));
  state.erase("0.bias");
  EXPECT_THROW(trainer->load_state(state), Error);
}

void expect_mixed_losses(const std::string& engine, const network::Criterion& criterion) {
  SCOPED_TRACE(engine + ", " + network::criterion_text(criterion));
  engine::TrainerOptions options;
  options.criterion = criterion;
  const auto trainer = make_trainer(small_mlp(kGrey, 5), options, {}, engine);
  auto batch = random_batch(6, kGrey, 5);
  const std::vector<std::int32_t> first = batch.labels, second{4, 3, 2, 1, 0, 4};
  const auto of_first = trainer->forward_backward(batch.view(), 1.0);
  const TensorMap first_gradients = exchange_of(*trainer).gradients();
  batch.labels = second;
  const auto of_second = trainer->forward_backward(batch.view(), 1.0);
  TensorMap expected = exchange_of(*trainer).gradients();
  batch.labels = first;
  const std::vector<float> weights(6, 0.75F);
  data::Batch mixed = batch.view();
  mixed.targets = data::MixedClassTargets{batch.labels, second, weights};
  const auto of_both = trainer->forward_backward(mixed, 1.0);
  EXPECT_EQ(of_both.total("correct"), of_first.total("correct"));
  // Both losses are linear in the label, or (the squared one) in its gradient.
  for (auto& [name, tensor] : expected) {
    for (std::int64_t i = 0; i < element_count(tensor.shape); ++i) {
      tensor.floats()[i] = 0.25F * tensor.floats()[i] + 0.75F * first_gradients.at(name).floats()[i];
    }
  }
  EXPECT_LT(relative_distance(exchange_of(*trainer).gradients(), expected), kRounding);
  if (std::holds_alternative<network::CrossEntropy>(criterion.terms.front().op)) {
    EXPECT_NEAR(of_both.total("loss"), 0.75 * of_first.total("loss") + 0.25 * of_second.total("loss"),
                1e-5 * of_both.total("loss"));
  }
}

TEST_F(TrainerTest, MixedLabelsWeighTheLossesOfBoth) {
  for (const char* engine : {"torch", "native"}) {
    if (module_status(engine).state == ModuleState::kNotBuilt) continue;
    expect_mixed_losses(engine, network::cross_entropy());
    expect_mixed_losses(engine, network::cross_entropy(/*label_smoothing=*/0.3));
    expect_mixed_losses(engine, network::mean_squared_error());
  }
}

}  // namespace
}  // namespace evener
