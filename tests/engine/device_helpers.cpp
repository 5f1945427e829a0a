#include "engine/device_helpers.h"

#include <cstdlib>
#include <filesystem>

#include "base/module.h"
#include "placement/machine.h"

namespace evener::test {

using engine::StepReport;
using engine::TrainerOptions;

namespace {

bool gpus_are_made_up() {
  const char* folder = std::getenv("EVENER_MODULE_DIR");
  return folder != nullptr && std::filesystem::path(folder).parent_path().filename() == "made_up";
}

}  // namespace

void DeviceTest::SetUp() {
  if (module_status("torch").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the torch engine is not built";
  if (GetParam().kind == DeviceKind::kCpu) return;
  const auto& gpus = placement::machine().cuda;
  if (gpus.devices.empty() && !gpus_are_made_up())
    GTEST_SKIP() << "there is no NVIDIA GPU to compute on: " << gpus.reason;
  // Before anything asks LibTorch for devices.
  const auto torch = engine::open_engine("torch");
  ASSERT_EQ(torch->trainer_refusal(small_mlp(kColour, 5), on_device()), "");
}

TrainerOptions DeviceTest::on_device() const {
  TrainerOptions options = options_;
  options.device = GetParam();
  options.torch.like_accelerator = true;
  return options;
}

StepReport DeviceTest::train(engine::Trainer& trainer, const OwnedBatch& batch, const std::vector<std::int64_t>& sizes,
                             int steps) const {
  StepReport all;
  for (int step = 0; step < steps; ++step) {
    const std::int64_t count = sizes[static_cast<std::size_t>(step) % sizes.size()];
    data::Batch part = batch.view(0, count);
    part.epoch = static_cast<std::uint64_t>(step + 1);
    add(all, trainer.step(part, 1.0 / static_cast<double>(count), step % 3 == 2 ? 0.5 * kRate : kRate));
  }
  add(all, trainer.settle());
  return all;
}

void DeviceTest::expect_equal_training(const network::Network& network, const std::vector<std::int64_t>& sizes) {
  const double tolerance = close();
  const OwnedBatch batch = random_batch(8, kColour, 5);
  const auto here = make_trainer(network, options_), there = make_trainer(network, on_device());
  const StepReport expected = train(*here, batch, sizes, kManySteps), found = train(*there, batch, sizes, kManySteps);
  EXPECT_EQ(found.steps, kManySteps);
  EXPECT_TRUE(found.finite);
  EXPECT_EQ(found.sums.count("loss"), expected.sums.count("loss"));
  EXPECT_NEAR(found.sums.total("loss"), expected.sums.total("loss"), 10 * tolerance * expected.sums.total("loss"));
  EXPECT_LT(relative_distance(there->state(), here->state()), tolerance);
  if (!here->optimizer_state().empty()) {
    EXPECT_LT(relative_distance(there->optimizer_state(), here->optimizer_state()), 50 * tolerance);
  }
}

std::vector<Device> test_devices() {
  if (gpus_are_made_up()) return {{DeviceKind::kCuda, 0}};
  return {{DeviceKind::kCpu, 0}, {DeviceKind::kCuda, 0}};
}

std::string device_test_name(const testing::TestParamInfo<Device>& info) {
  if (gpus_are_made_up()) return "late";
  return device_kind_name(info.param.kind);
}

}  // namespace evener::test
