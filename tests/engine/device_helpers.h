// Trainers that drive a device ahead of its results, against one on the CPU that does each thing when it is told. The
// device is the CPU driven in the same way, and a GPU where there is one.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/batches_helpers.h"
#include "engine/engine.h"

namespace evener::test {

inline const data::ImageShape kColour{3, 14, 12};
inline constexpr double kRate = 0.05;
/// Steps until an engine does its steps as it does all later ones.
inline constexpr int kManySteps = 12;

class DeviceTest : public testing::TestWithParam<Device> {
 protected:
  /// Skips without torch, or the GPU. A made-up one is always there.
  void SetUp() override;

  engine::TrainerOptions on_device() const;

  /// On a CPU another order of sums, in layers and in steps; on a GPU other algorithms for convolutions too (Winograd's
  /// has errors of 1e-4).
  double close() const { return GetParam().kind == DeviceKind::kCpu ? 2e-5 : 1e-3; }

  /// `steps` steps with the parts of `batch` that have `sizes` images, over and over; every third at another rate.
  engine::StepReport train(engine::Trainer& trainer, const OwnedBatch& batch, const std::vector<std::int64_t>& sizes,
                           int steps) const;

  void expect_equal_training(const network::Network& network, const std::vector<std::int64_t>& sizes = {8});

  engine::TrainerOptions options_;
};

/// The late device alone where EVENER_MODULE_DIR has made-up GPUs.
std::vector<Device> test_devices();
std::string device_test_name(const testing::TestParamInfo<Device>& info);

}  // namespace evener::test
