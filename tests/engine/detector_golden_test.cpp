// A step of a detector's training equals torchvision's: matches, losses, gradients of every parameter, running
// statistics. The yardstick is how far PyTorch's own float32 is from its float64
// (tests/golden/make_detector_golden.py).
#include <gtest/gtest.h>

#include "base/module.h"
#include "engine/golden_helpers.h"

namespace evener {
namespace {

using engine::MemoryLayout;
using test::GoldenCase;
using test::GoldenTensors;

// As in golden_test.cpp: our rounding is a draw of the same kind as PyTorch's, and what float32 can't show.
constexpr double kErrorsAllowed = 5, kFloor = 2e-6;

class DetectorGolden : public testing::TestWithParam<MemoryLayout> {
 protected:
  void SetUp() override {
    if (module_status("torch").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the torch engine is not built";
  }
};

void expect_equal(const TensorMap& found, const GoldenTensors& golden, std::uint64_t seed) {
  for (std::size_t row = 0; row < golden.names.size(); ++row) {
    const double unit = golden.deviation.at(row) + kFloor * golden.norm.at(row);
    EXPECT_LE(test::probe_distance(found.at(golden.names[row]), golden, row, unit, seed), kErrorsAllowed)
        << golden.names[row];
  }
}

TEST_P(DetectorGolden, FirstStepsLossGradientsAndStatisticsAreTorchvisions) {
  GoldenCase golden = test::read_golden("ssdlite320_mobilenet_v3_large", Precision::kFp32);
  golden.options.torch.layout = GetParam();
  const auto trainer = test::make_trainer(test::golden_network(golden), golden.options);
  const test::OwnedBatch images = test::golden_batch(golden);
  data::Batch batch = images.view();
  batch.targets = data::BoxTargets{golden.boxes};
  ASSERT_EQ(trainer->capabilities().exchange->trained_parameters(), golden.gradients.names);
  ASSERT_EQ(trainer->capabilities().detector->matches(batch), golden.matches);

  const double weight = 1.0 / static_cast<double>(golden.matches);
  const engine::Sums sums = trainer->forward_backward(batch, weight);
  const char* const losses[] = {"loss", "box_loss", "class_loss"};
  for (std::size_t i = 0; i < std::size(losses); ++i) {
    EXPECT_NEAR(sums.total(losses[i]) * weight, golden.losses[i],
                kErrorsAllowed * golden.losses_deviation[i] + kFloor * golden.losses[i])
        << losses[i];
  }
  expect_equal(trainer->capabilities().exchange->gradients(), golden.gradients, golden.seed);
  expect_equal(trainer->state(), golden.buffers, golden.seed);
}

INSTANTIATE_TEST_SUITE_P(Layouts, DetectorGolden,
                         testing::Values(MemoryLayout::kChannelsFirst, MemoryLayout::kChannelsLast),
                         [](const testing::TestParamInfo<MemoryLayout>& info) {
                           return std::string(info.param == MemoryLayout::kChannelsFirst ? "nchw" : "nhwc");
                         });

}  // namespace
}  // namespace evener
