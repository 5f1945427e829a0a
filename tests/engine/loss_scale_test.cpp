// The scaling of fp16's losses: steps whose gradients overflow are left out, and the scale shows in no result.
#include <gtest/gtest.h>

#include <limits>

#include "base/precision.h"
#include "engine/device_helpers.h"

namespace evener {
namespace {

using engine::TrainerOptions;
using namespace test;

class LossScale : public DeviceTest {};

TEST_P(LossScale, LeavesOutStepsWhoseGradientsOverflow) {
  options_.precision = Precision::kFp16;
  const OwnedBatch batch = random_batch(8, kColour, 5);
  for (const TrainerOptions& options : {options_, on_device()}) {
    const auto trainer = make_trainer(small_mlp(kColour, 5), options);
    const auto scale = [&] { return trainer->optimizer_state().at("optimizer.loss_scale").floats()[0]; };
    EXPECT_EQ(scale(), 65536);
    trainer->forward_backward(batch.view(), 1.0 / 8);
    const TensorMap before = trainer->state();
    exchange_of(*trainer).gradient(1)[0] = std::numeric_limits<float>::infinity();  // as an exchange may bring it
    trainer->apply(kRate);
    EXPECT_EQ(trainer->state(), before);
    EXPECT_EQ(scale(), 32768);
    EXPECT_EQ(trainer->capabilities().device->report().skipped_steps, 1);
    trainer->forward_backward(batch.view(), 1.0 / 8);
    trainer->apply(kRate);
    EXPECT_NE(trainer->state(), before);
    EXPECT_EQ(scale(), 32768);
    EXPECT_EQ(trainer->capabilities().device->report().skipped_steps, 1);
  }
}

/// The scale, after that many good steps.
void set_loss_scale(engine::Trainer& trainer, float scale, float good_steps = 0) {
  TensorMap state = trainer.optimizer_state();
  float* const values = state.at("optimizer.loss_scale").floats();
  values[0] = scale;
  values[1] = good_steps;
  trainer.load_optimizer_state(state);
}

// AdamW corrects its averages by the number of steps that went into them.
TEST_P(LossScale, StepsThatAreLeftOutAreNotCounted) {
  options_.precision = Precision::kFp16;
  options_.optimizer.kind = engine::OptimizerKind::kAdamW;
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const auto trainer = make_trainer(small_mlp(kColour, 5), on_device());
  const auto steps = [&] { return trainer->optimizer_state().at("optimizer.steps").floats()[0]; };
  // AdamW's steps make these weights so large that float16 can't hold their gradients times the scale of the start.
  set_loss_scale(*trainer, 64);
  for (const float counted : {0.0F, 1.0F, 1.0F, 2.0F}) {
    trainer->forward_backward(batch.view(), 1.0 / 8);
    if (counted == steps()) exchange_of(*trainer).gradient(1)[0] = std::numeric_limits<float>::infinity();
    trainer->apply(kRate);
    EXPECT_EQ(steps(), counted);
  }
  EXPECT_EQ(trainer->capabilities().device->report().skipped_steps, 2);
}

TEST_P(LossScale, GrowsAfterManyGoodStepsAndIsPartOfTheState) {
  options_.precision = Precision::kFp16;
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const auto trainer = make_trainer(small_mlp(kColour, 5), on_device());
  set_loss_scale(*trainer, 1024, 1998);
  for (const float expected : {1024.0F, 2048.0F, 2048.0F}) {
    trainer->step(batch.view(), 1.0 / 8, kRate);
    trainer->settle();
    EXPECT_EQ(trainer->optimizer_state().at("optimizer.loss_scale").floats()[0], expected);
  }
  EXPECT_EQ(trainer->optimizer_state().at("optimizer.loss_scale").floats()[1], 1);
}

TEST_P(LossScale, LeavesNoTrace) {
  options_.precision = Precision::kFp16;
  const OwnedBatch batch = random_batch(8, kColour, 5);
  TrainerOptions other = on_device();
  // On a CPU both are bf16, and a power of two changes no digit. fp16 has 11 bits.
  const bool cpu = GetParam().kind == DeviceKind::kCpu;
  other.precision = cpu ? Precision::kBf16 : Precision::kFp32;
  const double tolerance = cpu ? 1e-6 : 5e-2;
  const auto scaled = make_trainer(small_resnet(kColour, 5), on_device()),
             plain = make_trainer(small_resnet(kColour, 5), other);
  set_loss_scale(*scaled, 1024);  // no step is to be skipped
  EXPECT_NEAR(scaled->forward_backward(batch.view(), 1.0 / 8).total("loss"),
              plain->forward_backward(batch.view(), 1.0 / 8).total("loss"), 0.05);
  EXPECT_LT(relative_distance(exchange_of(*scaled).gradients(), exchange_of(*plain).gradients()), tolerance);
  train(*scaled, batch, {8}, kManySteps);
  train(*plain, batch, {8}, kManySteps);
  EXPECT_LT(relative_distance(scaled->state(), plain->state()), tolerance);
}

INSTANTIATE_TEST_SUITE_P(, LossScale, testing::ValuesIn(test_devices()), device_test_name);

}  // namespace
}  // namespace evener
