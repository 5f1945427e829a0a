// The optimisers against their formulas in double, step by step, with the gradients that the trainer found.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

#include "engine/batches_helpers.h"
#include "engine/engine.h"

namespace evener {
namespace {

using namespace test;

const data::ImageShape kGrey{1, 12, 10};
constexpr double kLearningRate = 0.05;

using Values = std::map<std::string, std::vector<double>>;

Values values_of(const TensorMap& tensors) {
  Values values;
  for (const auto& [name, tensor] : tensors) {
    values[name].assign(tensor.floats(), tensor.floats() + element_count(tensor.shape));
  }
  return values;
}

class OptimizerTest : public EngineTest<kTorch> {
 protected:
  /// Trains three steps; after each, every weight has to be what `update` made of it and its gradient.
  void expect_steps(const std::function<void(int step, double& weight, double gradient, double* slots)>& update) {
    trainer_ = make_trainer(small_mlp(kGrey, 5), options_);
    Values weights = values_of(trainer_->state());
    std::map<std::string, std::vector<std::array<double, 2>>> slots;
    for (const auto& [name, list] : weights) slots[name].resize(list.size());
    for (int step = 1; step <= 3; ++step) {
      trainer_->forward_backward(batch_.view(), 1.0 / 8);
      const Values gradients = values_of(exchange_of(*trainer_).gradients());
      trainer_->apply(kLearningRate);
      const Values found = values_of(trainer_->state());
      for (auto& [name, list] : weights) {
        for (std::size_t i = 0; i < list.size(); ++i) {
          update(step, list[i], gradients.at(name)[i] * scale(gradients), slots[name][i].data());
          ASSERT_NEAR(found.at(name)[i], list[i], 2e-6) << name << " " << i << " after step " << step;
        }
      }
    }
  }

  double scale(const Values& gradients) const {
    if (options_.optimizer.clip_norm == 0) return 1;
    double squares = 0;
    for (const auto& [name, list] : gradients) {
      for (const double value : list) squares += value * value;
    }
    return std::min(1.0, options_.optimizer.clip_norm / (std::sqrt(squares) + 1e-6));
  }

  engine::TrainerOptions options_;
  OwnedBatch batch_ = random_batch(8, kGrey, 5);
  std::unique_ptr<engine::Trainer> trainer_;
};

TEST_F(OptimizerTest, NesterovLooksAheadAlongItsMomentum) {
  options_.optimizer.momentum = 0.9;
  options_.optimizer.nesterov = true;
  options_.optimizer.weight_decay = 0.01;
  expect_steps([](int, double& weight, double gradient, double* slots) {
    const double g = gradient + 0.01 * weight;
    slots[0] = 0.9 * slots[0] + g;
    weight -= kLearningRate * (g + 0.9 * slots[0]);
  });
}

TEST_F(OptimizerTest, AdamWShrinksWeightsApartFromItsStep) {
  options_.optimizer.kind = engine::OptimizerKind::kAdamW;
  options_.optimizer.weight_decay = 0.1;
  // Where a gradient is next to nothing, the step's direction is rounding: epsilon is made large enough to cover it.
  options_.optimizer.epsilon = 1e-4;
  expect_steps([](int step, double& weight, double gradient, double* slots) {
    slots[0] = 0.9 * slots[0] + 0.1 * gradient;
    slots[1] = 0.999 * slots[1] + 0.001 * gradient * gradient;
    weight *= 1 - kLearningRate * 0.1;
    const double mean = slots[0] / (1 - std::pow(0.9, step)), square = slots[1] / (1 - std::pow(0.999, step));
    weight -= kLearningRate * mean / (std::sqrt(square) + 1e-4);
  });
}

TEST_F(OptimizerTest, ClippingScalesAllGradientsByOneNorm) {
  options_.optimizer.clip_norm = 0.05;  // well below the norm of these gradients
  expect_steps([](int, double& weight, double gradient, double*) { weight -= kLearningRate * gradient; });
}

TEST_F(OptimizerTest, ParametersMayHaveRatesOfTheirOwn) {
  network::Network network = small_mlp(kGrey, 5);
  const std::string first = network.parameters().front().name;
  network.set_rates({first}, 0.25);
  for (const auto kind : {engine::OptimizerKind::kSgd, engine::OptimizerKind::kAdamW}) {
    options_.optimizer.kind = kind;
    options_.optimizer.weight_decay = 0;
    const auto one = make_trainer(small_mlp(kGrey, 5), options_), own = make_trainer(network, options_);
    const Values before = values_of(one->state());
    for (const auto& trainer : {one.get(), own.get()}) {
      trainer->forward_backward(batch_.view(), 1.0 / 8);
      trainer->apply(kLearningRate);
    }
    const Values usual = values_of(one->state()), found = values_of(own->state());
    for (const auto& [name, list] : before) {
      const double share = name == first ? 0.25 : 1;
      for (std::size_t i = 0; i < list.size(); ++i) {
        ASSERT_NEAR(found.at(name)[i] - list[i], share * (usual.at(name)[i] - list[i]), 1e-6) << name;
      }
    }
  }
}

TEST_F(OptimizerTest, TheAverageFollowsTheWeightsAndIsSwappedInAndOut) {
  options_.optimizer.average_decay = 0.15;
  Values average = values_of(make_trainer(small_mlp(kGrey, 5), options_)->state());
  expect_steps([](int, double& weight, double gradient, double*) { weight -= kLearningRate * gradient; });
  trainer_ = make_trainer(small_mlp(kGrey, 5), options_);
  for (int step = 1; step <= 3; ++step) {
    trainer_->forward_backward(batch_.view(), 1.0 / 8);
    trainer_->apply(kLearningRate);
    // (1 + 1) / (10 + 1) is above 0.15, so that the decay asked for holds from the first step on
    for (const auto& [name, list] : values_of(trainer_->state())) {
      for (std::size_t i = 0; i < list.size(); ++i) average[name][i] = 0.15 * average[name][i] + 0.85 * list[i];
    }
  }
  const TensorMap weights = trainer_->state();
  trainer_->capabilities().average->swap_average();
  for (const auto& [name, list] : values_of(trainer_->state())) {
    for (std::size_t i = 0; i < list.size(); ++i) ASSERT_NEAR(list[i], average.at(name)[i], 1e-6) << name;
  }
  trainer_->capabilities().average->swap_average();
  EXPECT_EQ(trainer_->state(), weights);
}

TEST_F(OptimizerTest, ContinuesBitEqually) {
  for (const auto kind : {engine::OptimizerKind::kSgd, engine::OptimizerKind::kAdamW}) {
    options_.optimizer.kind = kind;
    options_.optimizer.momentum = 0.9;
    options_.optimizer.average_decay = 0.9;
    const auto step = [&](engine::Trainer& trainer) {
      trainer.forward_backward(batch_.view(), 1.0 / 8);
      trainer.apply(kLearningRate);
    };
    const auto first = make_trainer(small_mlp(kGrey, 5), options_);
    for (int i = 0; i < 3; ++i) step(*first);
    const auto second = make_trainer(small_mlp(kGrey, 5), options_);
    second->load_state(first->state());
    second->load_optimizer_state(first->optimizer_state());
    step(*first);
    step(*second);
    EXPECT_EQ(second->state(), first->state());
    EXPECT_EQ(second->optimizer_state(), first->optimizer_state());
  }
}

// What is predicted of memory and disks counts the same values.
TEST_F(OptimizerTest, KeepsAsManyValuesAsItsSlots) {
  for (const auto kind : {engine::OptimizerKind::kSgd, engine::OptimizerKind::kAdamW}) {
    for (const double momentum : {0.0, 0.9}) {
      for (const double decay : {0.0, 0.9}) {
        options_.optimizer.kind = kind;
        options_.optimizer.momentum = momentum;
        options_.optimizer.average_decay = decay;
        const auto trainer = make_trainer(small_mlp(kGrey, 5), options_);
        const std::size_t parameters = exchange_of(*trainer).trained_parameters().size(),
                          steps = trainer->optimizer_state().count("optimizer.steps");
        EXPECT_EQ(trainer->optimizer_state().size() - steps,
                  parameters * static_cast<std::size_t>(engine::optimizer_slots(options_.optimizer)));
      }
    }
  }
}

TEST_F(OptimizerTest, GradientsOfSeveralBatchesAddUp) {
  const auto whole = make_trainer(small_mlp(kGrey, 5), options_), parts = make_trainer(small_mlp(kGrey, 5), options_);
  whole->forward_backward(batch_.view(), 1.0 / 8);
  parts->clear_gradients();
  auto sums = parts->add_gradients(batch_.view(0, 3), 1.0 / 8);
  sums += parts->add_gradients(batch_.view(3, 3), 1.0 / 8);
  sums += parts->add_gradients(batch_.view(3, 8), 1.0 / 8);
  EXPECT_EQ(sums.count("loss"), 8);
  EXPECT_LT(relative_distance(exchange_of(*parts).gradients(), exchange_of(*whole).gradients()), 2e-6);
}

// Cross-entropy is linear in its target: smoothing mixes in the mean loss over all classes.
TEST_F(OptimizerTest, LabelSmoothingMixesInTheMeanOverAllClasses) {
  const auto network = small_mlp(kGrey, 5);
  options_.criterion = network::cross_entropy(0.2);
  const auto smoothed = make_trainer(network, options_);
  options_.criterion = network::cross_entropy();
  const auto plain = make_trainer(network, options_);
  double mean = 0;
  for (std::int32_t label = 0; label < 5; ++label) {
    auto other = batch_;
    other.labels.assign(8, label);
    mean += plain->forward_backward(other.view(), 1.0 / 8).total("loss") / 5;
  }
  const double exact = plain->forward_backward(batch_.view(), 1.0 / 8).total("loss");
  EXPECT_NEAR(smoothed->forward_backward(batch_.view(), 1.0 / 8).total("loss"), 0.8 * exact + 0.2 * mean, 1e-4 * exact);
  EXPECT_NEAR(smoothed->evaluate(batch_.view()).total("loss"), exact, 1e-5 * exact) << "evaluation has the plain loss";
}

}  // namespace
}  // namespace evener
