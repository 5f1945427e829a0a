// What one trainer of a process leaves to the next on the same device: the same bits where they are asked for, and no
// memory of its own.
#include <gtest/gtest.h>

#include "engine/device_helpers.h"

namespace evener {
namespace {

using test::DeviceTest;

TEST_P(DeviceTest, DeterministicStepsRepeatTheirBits) {
  const test::OwnedBatch batch = test::random_batch(8, test::kColour, 5);
  options_.optimizer.momentum = 0.9;
  engine::TrainerOptions options = on_device();
  options.deterministic = true;
  const auto trained = [&] {
    const auto trainer = test::make_trainer(test::small_resnet(test::kColour, 5), options);
    train(*trainer, batch, {8, 8, 8, 5}, 3 * test::kManySteps);
    return trainer->state();
  };
  EXPECT_EQ(trained(), trained());
}

TEST_P(DeviceTest, PeakMemoryIsOfOneTrainer) {
  const auto peak_of = [&](std::int64_t images) {
    const test::OwnedBatch batch = test::random_batch(images, test::kColour, 5);
    const auto trainer = test::make_trainer(test::small_resnet(test::kColour, 5), on_device());
    train(*trainer, batch, {images}, 3);
    return trainer->capabilities().device->report().peak_memory_bytes;
  };
  const auto large = peak_of(4096), small = peak_of(8);
  EXPECT_EQ(large.has_value(), GetParam().kind != DeviceKind::kCpu);
  EXPECT_LT(small.value_or(0), large.value_or(2) / 2);
}

}  // namespace
}  // namespace evener
