// Training equals PyTorch's from the same weights and batch: losses of ten steps, gradients of every parameter, running
// statistics. The yardstick of each number is how far PyTorch's own float32 or bfloat16 is from its float64, which
// tests/golden/make_golden.py measured. Read there how the numbers came about.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <ostream>

#include "base/module.h"
#include "base/precision.h"
#include "engine/golden_helpers.h"

namespace evener {
namespace {

using engine::MemoryLayout;
using namespace test;

// How many of PyTorch's own errors are allowed. Ours is a draw of the same kind: the same kernels, summed in another
// order, on another processor. Seen with AVX-512, AVX2 and SSE4.1 kernels, in both layouts: 1.6 at most.
constexpr double kErrorsAllowed = 5;
// What can't be seen in float32 whatever PyTorch's luck was: a few of its rounding steps.
constexpr double kFloor = 2e-6;
// The batch normalisations of a new ResNet-50 amplify rounding so much (its gradients are 2 % off in PyTorch itself)
// that PyTorch's four runs may all be lucky with one loss (seen with another input: 8 times as far, 3e-5 of the loss).
// The stride on another convolution of its blocks moves the loss by 7 %.
constexpr double kFloorResnet50 = 1e-4;
// After the first step a ResNet meets ReLUs within rounding of zero, which no choice of seeds prevents: the gradient
// then differs by up to 1 % (make_golden.py), and with it how far the loss has moved since.
constexpr double kErrorsAllowedLater = 3;
constexpr double kKinkShare = 0.01;
// bfloat16 keeps 8 bits, and ReLUs near zero decide otherwise: PyTorch's own gradients are 35 to 60 % off in a ResNet.
// A gradient that had nothing to do with the right one would be 140 % off, so the allowance is small, and is asked of
// all parameters together, where luck evens out (seen: 0.9 to 1.05).
constexpr double kErrorsAllowedBf16 = 1.5;
// A loss is one number, and PyTorch's four runs may all have been lucky (seen: 2.9).
constexpr double kErrorsAllowedLossBf16 = 6;

struct Setting {
  std::string file;
  Precision precision = Precision::kFp32;
  MemoryLayout layout = MemoryLayout::kAuto;
  std::string engine = "torch";
  engine::KernelChoice kernels = engine::KernelChoice::kSimd;
};

void PrintTo(const Setting& setting, std::ostream* out) {
  *out << setting.file;
}

std::string setting_name(const testing::TestParamInfo<Setting>& info) {
  const char* layout = info.param.layout == MemoryLayout::kAuto            ? ""
                       : info.param.layout == MemoryLayout::kChannelsFirst ? "_nchw"
                                                                           : "_nhwc";
  const std::string engine = info.param.engine == "torch"                         ? ""
                             : info.param.kernels == engine::KernelChoice::kNaive ? "_native_naive"
                                                                                  : "_native";
  return info.param.file + "_" + precision_name(info.param.precision) + layout + engine;
}

class GoldenTest : public testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    if (module_status(GetParam().engine).state == ModuleState::kNotBuilt)
      GTEST_SKIP() << "the " << GetParam().engine << " engine is not built";
    golden_ = read_golden(GetParam().file, GetParam().precision);
    golden_.options.torch.layout = GetParam().layout;
    golden_.options.native.kernels = GetParam().kernels;
    batch_ = golden_batch(golden_);
    const network::Network network = golden_network(golden_);
    const std::string why = engine::open_engine(GetParam().engine)->trainer_refusal(network, golden_.options);
    if (!why.empty()) GTEST_SKIP() << why;  // bfloat16 on a processor without it
    trainer_ = make_trainer(network, golden_.options, {}, GetParam().engine);
  }

  double step() {
    const double count = static_cast<double>(golden_.batch);
    return trainer_->forward_backward(batch_.view(), 1 / count).total("loss") / count;
  }

  double evaluated() {
    const auto result = trainer_->evaluate(batch_.view());
    return result.total("loss") / static_cast<double>(result.count("loss"));
  }

  // `moved`: how far the loss has moved since the first step; absent before it.
  void expect_near(double found, double expected, double deviation, const std::string& what,
                   std::optional<double> moved = {}) const {
    // Where PyTorch's bfloat16 happened to be lucky: half a unit of its 8 bits.
    const double share = bf16() ? 0x1p-9 : golden_.model == "resnet50" ? kFloorResnet50 : kFloor;
    const double floor = share * std::abs(expected);
    // A perceptron has 8192 ReLUs, a ResNet half a million.
    const bool kinks = moved && golden_.model.starts_with("resnet");
    const double errors = kinks ? kErrorsAllowedLater : bf16() ? kErrorsAllowedLossBf16 : kErrorsAllowed;
    const double kink = kinks ? kKinkShare * std::abs(*moved) : 0;
    EXPECT_NEAR(found, expected, errors * deviation + floor + kink) << what;
  }

  // The distance of each tensor from the golden one, in PyTorch's own errors and `floor` of the tensor's norm.
  std::vector<double> distances(const TensorMap& found, const GoldenTensors& golden, double floor) const {
    std::vector<double> result;
    for (std::size_t row = 0; row < golden.names.size(); ++row) {
      const double unit = golden.deviation.at(row) + floor * golden.norm.at(row);
      result.push_back(probe_distance(found.at(golden.names[row]), golden, row, unit, golden_.seed));
    }
    return result;
  }

  void expect_equal(const TensorMap& found, const GoldenTensors& golden, double floor = kFloor) const {
    const std::vector<double> errors = distances(found, golden, floor);
    if (bf16()) {
      double squares = 0;
      for (const double error : errors) squares += error * error;
      EXPECT_LE(std::sqrt(squares / static_cast<double>(errors.size())), kErrorsAllowedBf16);
      return;
    }
    for (std::size_t row = 0; row < errors.size(); ++row) EXPECT_LE(errors[row], kErrorsAllowed) << golden.names[row];
  }

  bool bf16() const { return GetParam().precision == Precision::kBf16; }

  GoldenCase golden_;
  OwnedBatch batch_;
  std::unique_ptr<engine::Trainer> trainer_;
};

TEST_P(GoldenTest, FirstStepsLossGradientsAndStatisticsArePyTorchs) {
  ASSERT_EQ(trainer_->capabilities().exchange->trained_parameters(), golden_.gradients.names);
  expect_near(step(), golden_.losses[0], golden_.losses_deviation[0], "loss");
  // No seed that was tried keeps ResNet-50's ReLUs away from zero even in the first step. In its last layers few are
  // near, so that one which opens here may open in none of PyTorch's runs (seen: 0.8 % of a gradient). Its statistics
  // have no such jumps.
  const double floor = golden_.model == "resnet50" ? kKinkShare / kErrorsAllowed : kFloor;
  expect_equal(trainer_->capabilities().exchange->gradients(), golden_.gradients, floor);
  if (golden_.buffers.names.empty()) return;
  const TensorMap state = trainer_->state();
  expect_equal(state, golden_.buffers);
  for (const auto& [name, tensor] : state) {
    if (name.ends_with(".num_batches_tracked")) {
      EXPECT_EQ(tensor, HostTensor::scalar_i64(1)) << name;
    }
  }
}

TEST_P(GoldenTest, TenStepsLossesArePyTorchs) {
  for (std::size_t i = 0; i < golden_.losses.size(); ++i) {
    const auto moved = i == 0 ? std::nullopt : std::optional(golden_.losses[i] - golden_.losses[0]);
    expect_near(step(), golden_.losses[i], golden_.losses_deviation[i], "step " + std::to_string(i), moved);
    if (i == 0) expect_near(evaluated(), golden_.evaluations[0], golden_.evaluations_deviation[0], "evaluation before");
    trainer_->apply(golden_.learning_rate);
  }
  expect_near(evaluated(), golden_.evaluations[1], golden_.evaluations_deviation[1], "evaluation after",
              golden_.losses.back() - golden_.losses[0]);
}

INSTANTIATE_TEST_SUITE_P(Mlp, GoldenTest,
                         testing::Values(Setting{"mlp_relu"}, Setting{"mlp_sigmoid"}, Setting{"mlp_tanh"},
                                         Setting{"mlp_mse"}, Setting{"mlp_relu", Precision::kBf16},
                                         Setting{"mlp_sigmoid", Precision::kBf16},
                                         Setting{"mlp_tanh", Precision::kBf16}, Setting{"mlp_mse", Precision::kBf16}),
                         setting_name);

constexpr MemoryLayout kAny = MemoryLayout::kAuto;
constexpr engine::KernelChoice kNaive = engine::KernelChoice::kNaive;
INSTANTIATE_TEST_SUITE_P(NativeMlp, GoldenTest,
                         testing::Values(Setting{"mlp_relu", Precision::kFp32, kAny, "native"},
                                         Setting{"mlp_sigmoid", Precision::kFp32, kAny, "native"},
                                         Setting{"mlp_tanh", Precision::kFp32, kAny, "native"},
                                         Setting{"mlp_mse", Precision::kFp32, kAny, "native"},
                                         Setting{"mlp_relu", Precision::kFp32, kAny, "native", kNaive},
                                         Setting{"mlp_sigmoid", Precision::kFp32, kAny, "native", kNaive},
                                         Setting{"mlp_tanh", Precision::kFp32, kAny, "native", kNaive},
                                         Setting{"mlp_mse", Precision::kFp32, kAny, "native", kNaive},
                                         Setting{"mlp_relu", Precision::kBf16, kAny, "native"},
                                         Setting{"mlp_sigmoid", Precision::kBf16, kAny, "native"},
                                         Setting{"mlp_tanh", Precision::kBf16, kAny, "native"},
                                         Setting{"mlp_mse", Precision::kBf16, kAny, "native"}),
                         setting_name);

INSTANTIATE_TEST_SUITE_P(Convolutions, GoldenTest,
                         testing::Values(Setting{"resnet18_rgb", Precision::kFp32, MemoryLayout::kChannelsFirst},
                                         Setting{"resnet18_rgb", Precision::kFp32, MemoryLayout::kChannelsLast},
                                         Setting{"resnet18_odd", Precision::kFp32, MemoryLayout::kChannelsFirst},
                                         Setting{"resnet18_odd", Precision::kFp32, MemoryLayout::kChannelsLast},
                                         Setting{"resnet34_grey", Precision::kFp32, MemoryLayout::kChannelsFirst},
                                         Setting{"resnet34_grey", Precision::kFp32, MemoryLayout::kChannelsLast},
                                         Setting{"mobilenet_v2", Precision::kFp32, MemoryLayout::kChannelsFirst},
                                         Setting{"mobilenet_v2", Precision::kFp32, MemoryLayout::kChannelsLast},
                                         Setting{"mobilenet_v3_large", Precision::kFp32, MemoryLayout::kChannelsFirst},
                                         Setting{"mobilenet_v3_large", Precision::kFp32, MemoryLayout::kChannelsLast},
                                         Setting{"efficientnet_b0", Precision::kFp32, MemoryLayout::kChannelsFirst},
                                         Setting{"efficientnet_b0", Precision::kFp32, MemoryLayout::kChannelsLast},
                                         Setting{"resnet50", Precision::kFp32, MemoryLayout::kChannelsFirst},
                                         Setting{"resnet50", Precision::kFp32, MemoryLayout::kChannelsLast},
                                         Setting{"resnet20", Precision::kFp32, MemoryLayout::kChannelsFirst},
                                         Setting{"resnet20", Precision::kFp32, MemoryLayout::kChannelsLast},
                                         Setting{"resnet32", Precision::kFp32, MemoryLayout::kChannelsLast},
                                         Setting{"resnet44", Precision::kFp32, MemoryLayout::kChannelsLast},
                                         Setting{"resnet56", Precision::kFp32, MemoryLayout::kChannelsLast},
                                         Setting{"resnet20", Precision::kBf16},
                                         Setting{"resnet18_rgb", Precision::kBf16},
                                         Setting{"resnet18_odd", Precision::kBf16},
                                         Setting{"resnet34_grey", Precision::kBf16}),
                         setting_name);

INSTANTIATE_TEST_SUITE_P(Operations, GoldenTest,
                         testing::Values(Setting{"operations_windows", Precision::kFp32, MemoryLayout::kChannelsFirst},
                                         Setting{"operations_windows", Precision::kFp32, MemoryLayout::kChannelsLast},
                                         Setting{"operations_windows", Precision::kBf16},
                                         Setting{"operations_branches", Precision::kFp32, MemoryLayout::kChannelsFirst},
                                         Setting{"operations_branches", Precision::kFp32, MemoryLayout::kChannelsLast},
                                         Setting{"operations_branches", Precision::kBf16}),
                         setting_name);

class DetectorGolden : public EngineTest<kTorch, testing::TestWithParam<MemoryLayout>> {};

void expect_equal(const TensorMap& found, const GoldenTensors& golden, std::uint64_t seed) {
  for (std::size_t row = 0; row < golden.names.size(); ++row) {
    const double unit = golden.deviation.at(row) + kFloor * golden.norm.at(row);
    EXPECT_LE(probe_distance(found.at(golden.names[row]), golden, row, unit, seed), kErrorsAllowed)
        << golden.names[row];
  }
}

TEST_P(DetectorGolden, FirstStepsLossGradientsAndStatisticsAreTorchvisions) {
  GoldenCase golden = read_golden("ssdlite320_mobilenet_v3_large", Precision::kFp32);
  golden.options.torch.layout = GetParam();
  const auto trainer = make_trainer(golden_network(golden), golden.options);
  const OwnedBatch images = golden_batch(golden);
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
