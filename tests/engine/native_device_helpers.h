// Trainers of the native engine on accelerators, beside its plain loops on the CPU: on the first OpenCL device (PoCL's,
// which is the CPU again, will do) and on an NVIDIA GPU where there is one.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/module.h"
#include "base/paths.h"
#include "engine/batches_helpers.h"
#include "network/zoo.h"
#include "placement/machine.h"

namespace evener::test {

/// float32 sums of a few hundred terms in another order.
inline constexpr double kRounding = 4e-6;
inline constexpr double kCpuRounding = 2e-6;

inline network::Network mlp(const std::string& model, data::ImageShape shape) {
  return network::build(model, {.input = network::Shape{shape.channels, shape.height, shape.width}});
}

inline engine::TrainerOptions naive(engine::TrainerOptions options = {}) {
  options.device = {};
  options.native.kernels = engine::KernelChoice::kNaive;
  options.resident = nullptr;
  return options;
}

inline std::unique_ptr<engine::Trainer> native(const network::Network& network, const engine::TrainerOptions& options,
                                               const TensorMap& state = {}) {
  return make_trainer(network, options, state, "native");
}

class NativeDeviceTest : public testing::TestWithParam<Device> {
 protected:
  /// PoCL keeps what it has compiled in the home directory unless it is told otherwise. Each test is a process of its
  /// own: they share what the first of them compiles, which takes seconds.
  static void SetUpTestSuite() {
    const std::filesystem::path folder = std::filesystem::path(program_path()).parent_path().parent_path() / "pocl";
    std::filesystem::create_directories(folder);
    setenv("POCL_CACHE_DIR", folder.c_str(), /*overwrite=*/0);
  }

  void SetUp() override {
    if (module_status("native").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the native engine is not built";
    if (GetParam().kind == DeviceKind::kCpu) return;
    const auto& found = placement::machine().accelerators(GetParam().kind);
    if (found.devices.empty()) GTEST_SKIP() << "there is no " << device_text(GetParam()) << ": " << found.reason;
    const std::string why = engine::open_engine("native")->trainer_refusal(mlp("mlp:16-3", {1, 4, 4}), on_device());
    if (!why.empty()) GTEST_SKIP() << why;
  }

  static engine::TrainerOptions on_device(engine::TrainerOptions options = {}) {
    options.device = GetParam();
    return options;
  }

  /// `steps` steps with the first images of `batch`, so many as `sizes` say, over and over; every third at another
  /// rate.
  static engine::StepReport train(engine::Trainer& trainer, const OwnedBatch& batch, int steps,
                                  const std::vector<std::int64_t>& sizes, double rate = 0.1) {
    engine::StepReport all;
    for (int step = 0; step < steps && all.finite; ++step) {
      const std::int64_t count = sizes[static_cast<std::size_t>(step) % sizes.size()];
      const double weight = 1.0 / static_cast<double>(count);
      add(all, trainer.step(batch.view(0, count), weight, step % 3 == 2 ? 0.5 * rate : rate));
    }
    if (all.finite) add(all, trainer.settle());
    return all;
  }

  /// A training of many steps on both, and what it comes to.
  static void expect_equal_training(const network::Network& network, const data::ImageShape& shape,
                                    const engine::TrainerOptions& options,
                                    const std::vector<std::int64_t>& sizes = {11}) {
    constexpr int kSteps = 30;  // with some that are replayed where that is possible
    const OwnedBatch batch =
        random_batch(*std::ranges::max_element(sizes), shape, static_cast<int>(network.output_shape().front()));
    engine::TrainerOptions there = on_device(options);
    const auto reference = native(network, naive(options)), trainer = native(network, there);
    const engine::StepReport expected = train(*reference, batch, kSteps, sizes),
                             found = train(*trainer, batch, kSteps, sizes);
    EXPECT_EQ(found.steps, kSteps);
    EXPECT_EQ(found.sums.count("loss"), expected.sums.count("loss"));
    EXPECT_NEAR(found.sums.total("loss"), expected.sums.total("loss"), 1e-5 * expected.sums.total("loss"));
    // Rounding errors grow as the weights move.
    EXPECT_LT(relative_distance(trainer->state(), reference->state()), 10 * kRounding);
    if (reference->optimizer_state().empty()) return;
    EXPECT_LT(relative_distance(trainer->optimizer_state(), reference->optimizer_state()), 25 * kRounding);
  }
};

}  // namespace evener::test
