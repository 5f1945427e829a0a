// What the native engine says of its work on accelerators, and of what it can't do there.
#include <gmock/gmock.h>

#include "base/error.h"
#include "base/precision.h"
#include "engine/native_device_helpers.h"

namespace evener {
namespace {

using engine::KernelChoice;
using engine::TrainerOptions;
using test::BatchData;
using test::mlp;
using test::native;
using test::NativeDeviceTest;
using test::OwnedBatch;
using test::random_batch;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_P(NativeDeviceTest, ReportsItsMemoryAndItsPhases) {
  const data::ImageShape shape{1, 28, 28};
  const network::Network network = mlp("mlp:784-64-10", shape);
  const auto trainer = native(network, on_device());
  train(*trainer, random_batch(16, shape, 10), 12, {16});
  const engine::DeviceReport report = trainer->capabilities().device->report();
  EXPECT_GT(report.peak_memory_bytes.value_or(0), 2 * 784 * 64 * sizeof(float));
  std::vector<std::string> phases;
  for (const auto& [name, seconds] : report.step_phases_s) {
    phases.push_back(name);
    EXPECT_GT(seconds, 0) << name;
  }
  EXPECT_THAT(phases, ElementsAre("backward", "d2h", "forward", "h2d"));
  EXPECT_THAT(report.notes,
              ElementsAre(HasSubstr(GetParam().kind == DeviceKind::kCuda ? "graph" : "kernel by kernel")));
}

TEST_P(NativeDeviceTest, SaysWhatItCannotDo) {
  const data::ImageShape shape{1, 4, 4};
  const network::Network network = mlp("mlp:16-20-3", shape);
  const auto engine = engine::open_engine("native");
  TrainerOptions options = on_device();
  options.precision = Precision::kBf16;
  EXPECT_THAT(engine->trainer_refusal(network, options), AllOf(HasSubstr("bf16"), HasSubstr("--precision fp32")));
  options = on_device();
  options.native.kernels = KernelChoice::kNaive;
  EXPECT_THAT(engine->trainer_refusal(network, options), AllOf(HasSubstr("naive"), HasSubstr("--on cpu")));
  EXPECT_EQ(engine->shared_bytes(network, on_device(), 2), 0u);
  options = on_device();
  options.device.index = 99;
  try {
    native(network, options);
    FAIL() << "a device that isn't there";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("there is no " + device_text(options.device)));
  }
}

TEST_P(NativeDeviceTest, SaysWhatDoesNotFit) {
  const data::ImageShape shape{1, 4, 4};
  OwnedBatch batch = random_batch(1, shape, 3);
  TrainerOptions options = on_device();
  options.resident = std::make_shared<BatchData>(batch, std::size_t{1} << 40);
  try {
    native(mlp("mlp:16-3", shape), options);
    FAIL() << "16 TB of images";
  } catch (const engine::OutOfMemory& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("17.6 TB"), HasSubstr("--data-on host")));
  }
  options.resident = std::make_shared<BatchData>(batch);
  constexpr std::int64_t kMany = 1 << 20;
  const std::vector<std::int32_t> labels(kMany, 0);
  const std::vector<std::uint32_t> samples(kMany, 0);
  const data::Batch large{kMany, shape, {}, data::ClassTargets{labels}, samples, 1};
  const auto trainer = native(mlp("mlp:16-300000-3", shape), options);
  try {
    trainer->step(large, 1, 0.1);
    FAIL() << "2.5 TB of activations";
  } catch (const engine::OutOfMemory& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("1048576 images"), HasSubstr("largest that fits"), HasSubstr("--batch")));
  }
  const data::Batch small = data::part_of(large, 0, 2);
  engine::StepReport smaller = trainer->step(small, 1, 0.1);
  add(smaller, trainer->settle());
  EXPECT_TRUE(smaller.finite);
  EXPECT_EQ(smaller.steps, 1);
}

}  // namespace
}  // namespace evener
