// Products of matrices on every engine and device of this machine against sums in double.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/module.h"
#include "base/random.h"
#include "base/simd_level.h"
#include "engine/engine.h"
#include "placement/machine.h"

namespace evener::engine {
namespace {

struct Case {
  const char* engine;
  DeviceKind device;
  Precision precision;
};

class MatrixProducts : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (module_status(GetParam().engine).state == ModuleState::kNotBuilt)
      GTEST_SKIP() << "the " << GetParam().engine << " engine is not built";
    // CUDA's libraries may be there without a GPU, which LibTorch tells in its own way.
    if (const auto& gpus = placement::machine().cuda; GetParam().device == DeviceKind::kCuda && gpus.devices.empty())
      GTEST_SKIP() << "there is no NVIDIA GPU to compute on: " << gpus.reason;
    engine_ = open_engine(GetParam().engine);
    options_.device.kind = GetParam().device;
    options_.precision = GetParam().precision;
    options_.threads = 2;
    if (const std::string why = engine_->matrix_refusal(options_); !why.empty()) GTEST_SKIP() << why;
  }

  /// Null where there is no such device; `why_not_` has the reason then. A CPU is always there.
  std::unique_ptr<MatrixProduct> product() {
    try {
      return engine_->make_matrix_product(options_);
    } catch (const Error& error) {
      if (options_.device.kind == DeviceKind::kCpu) throw;
      why_not_ = error.what();
      return nullptr;
    }
  }

  /// Multiples of 1/128 in [-1, 1): exact in bfloat16, and so are their products and sums in float32.
  std::vector<float> random_values(std::uint64_t which) const {
    Random random(5, Purpose::kSynthetic, which);
    std::vector<float> values(static_cast<std::size_t>(options_.size * options_.size));
    for (float& value : values) value = static_cast<float>(random.below(256)) / 128 - 1;
    return values;
  }

  std::unique_ptr<Engine> engine_;
  MatrixOptions options_;
  std::string why_not_;
};

TEST_P(MatrixProducts, AreExactWhereNothingIsRounded) {
  for (const std::int64_t size : {1, 2, 17, 100, 481, 530, 970}) {
    options_.size = size;
    const auto multiplier = product();
    if (!multiplier) GTEST_SKIP() << why_not_;
    const std::vector<float> a = random_values(0), b = random_values(1);
    std::vector<float> c(a.size(), std::nanf(""));
    for (int again = 0; again < 2; ++again) {
      const MatrixTimes times = multiplier->multiply(a, b, c);
      EXPECT_GT(times.product_s, 0);
      EXPECT_EQ(times.h2d_s.has_value(), GetParam().device != DeviceKind::kCpu);
    }
    const double unit = multiplier->rounds_product() ? 1.0 / 256 : 0;
    for (std::int64_t row = 0; row < size; row += std::max<std::int64_t>(1, size / 13)) {
      for (std::int64_t column = 0; column < size; ++column) {
        double sum = 0;
        for (std::int64_t k = 0; k < size; ++k) {
          sum += static_cast<double>(a[static_cast<std::size_t>(row * size + k)]) *
                 static_cast<double>(b[static_cast<std::size_t>(k * size + column)]);
        }
        ASSERT_NEAR(c[static_cast<std::size_t>(row * size + column)], sum, unit * std::abs(sum))
            << size << ": row " << row << ", column " << column;
      }
    }
  }
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  return std::string(info.param.engine) + "_" + device_kind_name(info.param.device) + "_" +
         precision_name(info.param.precision);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, MatrixProducts,
                         testing::Values(Case{"torch", DeviceKind::kCpu, Precision::kFp32},
                                         Case{"torch", DeviceKind::kCpu, Precision::kBf16},
                                         Case{"torch", DeviceKind::kCuda, Precision::kFp32},
                                         Case{"native", DeviceKind::kCpu, Precision::kFp32},
                                         Case{"native", DeviceKind::kCpu, Precision::kBf16},
                                         Case{"native", DeviceKind::kOpencl, Precision::kFp32}),
                         case_name);

TEST(MatrixRefusals, SayWhatCanBeDone) {
  if (module_status("native").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the native engine is not built";
  const auto native = open_engine("native");
  MatrixOptions options;
  options.precision = Precision::kFp16;
  EXPECT_NE(native->matrix_refusal(options).find("use --engine torch"), std::string::npos);
  options = {};
  options.device.kind = DeviceKind::kNpu;
  EXPECT_NE(native->matrix_refusal(options), "");
  EXPECT_THROW(native->make_matrix_product(options), Error);
}

TEST(CopiedMatrices, AreThreeOfTwoBytesInShortPrecisions) {
  MatrixOptions options;
  options.size = 10;
  EXPECT_EQ(copied_matrix_bytes(options), 0U);
  options.precision = Precision::kBf16;
  EXPECT_EQ(copied_matrix_bytes(options), 600U);
}

}  // namespace
}  // namespace evener::engine
