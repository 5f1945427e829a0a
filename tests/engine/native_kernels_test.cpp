// The native engine's kernels at every level that this processor has, on small multiples of 1/8: products and sums of
// them are exact in float32 and the operands are in bfloat16, so nothing has to be tolerated.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <ostream>
#include <vector>

#include "base/random.h"
#include "engine/native_mlp/cpu/kernels.h"

namespace evener {
namespace {

namespace native_mlp = engine::native_mlp;
using native_mlp::Unit;

struct Level {
  const char* name;
  const native_mlp::MlpKernels* kernels;
  bool usable;
};

void PrintTo(const Level& level, std::ostream* out) {
  *out << level.name;
}

std::vector<Level> levels() {
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  return {{"baseline", &native_mlp::baseline::table, true},
          {"avx2", &native_mlp::avx2::table, avx2},
          {"avx512", &native_mlp::avx512::table, avx512},
          {"avx512_bf16", &native_mlp::avx512_bf16::table, avx512 && __builtin_cpu_supports("avx512bf16")}};
}

constexpr std::int64_t kSamples = 13, kInputs = 37, kOutputs = 90;  // two panels, the second of 32 columns

std::int64_t up(std::int64_t count, std::int64_t unit) {
  return (count + unit - 1) / unit;
}

class NativeKernels : public testing::TestWithParam<Level> {
 protected:
  void SetUp() override {
    if (!GetParam().usable) GTEST_SKIP() << "this processor lacks " << GetParam().name;
    x_ = random_values(kSamples * kInputs);
    w_ = random_values(kInputs * kOutputs);  // (inputs, outputs)
    dy_ = random_values(kSamples * kOutputs);
    bias_ = random_values(columns(kOutputs));
  }

  static std::int64_t columns(std::int64_t count) { return up(count, 16) * 16; }
  const native_mlp::MlpKernels& kernels() const { return *GetParam().kernels; }
  std::int64_t units(std::int64_t values) const { return up(values, kernels().unit_values); }

  std::vector<float> random_values(std::int64_t count) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back((static_cast<float>(random_.below(33)) - 16) / 8);
    return values;
  }

  /// Puts a value at place `k` along the summed dimension of the unit that begins it.
  void put(std::vector<Unit>& to, std::int64_t unit, std::int64_t k, float value) const {
    Unit& place = to[static_cast<std::size_t>(unit)];
    if (kernels().unit_values == 1) {
      place = value;
      return;
    }
    const std::uint32_t half = std::bit_cast<std::uint32_t>(value) >> 16, bits = std::bit_cast<std::uint32_t>(place);
    place = std::bit_cast<Unit>(k % 2 == 0 ? (bits & 0xffff0000) | half : (bits & 0xffff) | half << 16);
  }

  /// Rows (count, k) of row-major values.
  std::vector<Unit> rows(const std::vector<float>& from, std::int64_t count, std::int64_t k, std::int64_t stride) {
    std::vector<Unit> to(static_cast<std::size_t>(count * stride));
    for (std::int64_t r = 0; r < count; ++r) {
      for (std::int64_t i = 0; i < k; ++i) {
        put(to, r * stride + i / kernels().unit_values, i, from[static_cast<std::size_t>(r * k + i)]);
      }
    }
    return to;
  }

  static std::int64_t panel_place(std::int64_t row, std::int64_t rows, std::int64_t c, std::int64_t all_columns) {
    const std::int64_t panel = c / 64 * 64, width = std::min<std::int64_t>(64, all_columns - panel);
    return panel * rows + row * width + c - panel;
  }

  /// Panels of a matrix (k, count), given row-major.
  std::vector<Unit> panels(const std::vector<float>& from, std::int64_t k, std::int64_t count) {
    std::vector<Unit> to(static_cast<std::size_t>(units(k) * columns(count)));
    for (std::int64_t i = 0; i < k; ++i) {
      for (std::int64_t c = 0; c < count; ++c) {
        put(to, panel_place(i / kernels().unit_values, units(k), c, columns(count)), i,
            from[static_cast<std::size_t>(i * count + c)]);
      }
    }
    return to;
  }

  static std::vector<float> float_panels(const std::vector<float>& from, std::int64_t k, std::int64_t count) {
    std::vector<float> to(static_cast<std::size_t>(k * columns(count)));
    for (std::int64_t i = 0; i < k; ++i) {
      for (std::int64_t c = 0; c < count; ++c) {
        to[static_cast<std::size_t>(panel_place(i, k, c, columns(count)))] =
            from[static_cast<std::size_t>(i * count + c)];
      }
    }
    return to;
  }

  /// The weight gradient's x: (samples, inputs) as units over the samples.
  std::vector<Unit> pairs(std::int64_t stride) {
    std::vector<Unit> to(static_cast<std::size_t>(units(kSamples) * stride));
    for (std::int64_t s = 0; s < kSamples; ++s) {
      for (std::int64_t i = 0; i < kInputs; ++i) {
        put(to, s / kernels().unit_values * stride + i, s, x_[static_cast<std::size_t>(s * kInputs + i)]);
      }
    }
    return to;
  }

  float expected_gradient(std::int64_t input, std::int64_t output) const {
    float sum = 0;
    for (std::int64_t s = 0; s < kSamples; ++s) {
      sum += x_[static_cast<std::size_t>(s * kInputs + input)] * dy_[static_cast<std::size_t>(s * kOutputs + output)];
    }
    return sum;
  }

  std::int64_t tiles(std::int64_t count, std::int64_t all_rows) const {
    return up(columns(count), 64) * up(all_rows, kernels().tile_rows);
  }

  Random random_{5, Purpose::kSynthetic};
  std::vector<float> x_, w_, dy_, bias_;
};

TEST_P(NativeKernels, ForwardIsTheProductWithBiasAndRelu) {
  const std::int64_t stride = 48;
  const auto x = rows(x_, kSamples, kInputs, stride);
  const auto w = panels(w_, kInputs, kOutputs);
  std::vector<float> y(static_cast<std::size_t>(kSamples * columns(kOutputs)), -1);
  native_mlp::Forward work{};
  work.x = x.data();
  work.x_stride = stride;
  work.inputs = units(kInputs);
  work.samples = kSamples;
  work.weights = w.data();
  work.columns = columns(kOutputs);
  work.bias = bias_.data();
  work.function = native_mlp::Function::kRelu;
  work.logits = y.data();
  work.logits_stride = columns(kOutputs);
  const std::int64_t all = tiles(kOutputs, kSamples);
  kernels().forward(work, 0, all / 2);  // as two threads
  kernels().forward(work, all / 2, all);
  for (std::int64_t s = 0; s < kSamples; ++s) {
    for (std::int64_t o = 0; o < kOutputs; ++o) {
      float sum = bias_[static_cast<std::size_t>(o)];
      for (std::int64_t i = 0; i < kInputs; ++i) {
        sum += x_[static_cast<std::size_t>(s * kInputs + i)] * w_[static_cast<std::size_t>(i * kOutputs + o)];
      }
      ASSERT_EQ(y[static_cast<std::size_t>(s * columns(kOutputs) + o)], std::max(sum, 0.0F)) << s << " " << o;
    }
  }
}

TEST_P(NativeKernels, WeightGradientIsTheProductOverTheSamples) {
  const std::int64_t stride = 48;
  const auto x = pairs(stride);
  const auto dy = panels(dy_, kSamples, kOutputs);
  std::vector<float> gradient(static_cast<std::size_t>(kInputs * columns(kOutputs)), 1);
  std::vector<float> bias(static_cast<std::size_t>(columns(kOutputs)), 1);
  native_mlp::WeightGradient work{};
  work.x = x.data();
  work.x_stride = stride;
  work.inputs = kInputs;
  work.dy = dy.data();
  work.columns = columns(kOutputs);
  work.samples = units(kSamples);
  work.gradient = gradient.data();
  work.bias_gradient = bias.data();
  for (const bool add : {false, true}) {
    work.add = add;
    kernels().weight_gradient(work, 0, tiles(kOutputs, kInputs));
    for (std::int64_t o = 0; o < kOutputs; ++o) {
      for (std::int64_t i = 0; i < kInputs; ++i) {
        ASSERT_EQ(gradient[static_cast<std::size_t>(panel_place(i, kInputs, o, columns(kOutputs)))],
                  (add ? 2 : 1) * expected_gradient(i, o));
      }
      float sum = 0;
      for (std::int64_t s = 0; s < kSamples; ++s) sum += dy_[static_cast<std::size_t>(s * kOutputs + o)];
      ASSERT_EQ(bias[static_cast<std::size_t>(o)], (add ? 2 : 1) * sum);
    }
  }
}

TEST_P(NativeKernels, WeightsAreUpdatedWhereTheirGradientIsFound) {
  const std::int64_t stride = 48;
  const auto x = pairs(stride);
  const auto dy = panels(dy_, kSamples, kOutputs);
  const std::vector<float> before = float_panels(w_, kInputs, kOutputs);
  std::vector<float> weights = before, bias = bias_;
  std::vector<Unit> rounded(static_cast<std::size_t>(units(kInputs) * columns(kOutputs)));
  native_mlp::WeightGradient work{};
  work.x = x.data();
  work.x_stride = stride;
  work.inputs = kInputs;
  work.dy = dy.data();
  work.columns = columns(kOutputs);
  work.samples = units(kSamples);
  work.rule = {0.5F, 0, 0, false};
  work.weights = weights.data();
  work.bias = bias.data();
  work.rounded = rounded.data();
  kernels().weight_gradient(work, 0, tiles(kOutputs, kInputs));
  for (std::int64_t i = 0; i < kInputs; ++i) {
    for (std::int64_t o = 0; o < kOutputs; ++o) {
      const auto place = static_cast<std::size_t>(panel_place(i, kInputs, o, columns(kOutputs)));
      ASSERT_EQ(weights[place], before[place] - 0.5F * expected_gradient(i, o));
    }
  }
  if (kernels().round == nullptr) return;
  std::vector<Unit> expected(rounded.size());
  kernels().round(weights.data(), kInputs, columns(kOutputs), expected.data(), 0, kInputs);
  for (std::size_t i = 0; i < rounded.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(rounded[i]), std::bit_cast<std::uint32_t>(expected[i]));
  }
}

TEST_P(NativeKernels, InputGradientIsTheProductWithTransposedWeights) {
  const std::int64_t dy_stride = 112, y_stride = 48;
  const auto dy = rows(dy_, kSamples, kOutputs, dy_stride);
  const auto y = rows(x_, kSamples, kInputs, y_stride);  // what the layer below gave
  const auto weights = float_panels(w_, kInputs, kOutputs);
  std::vector<Unit> transposed(static_cast<std::size_t>(units(kOutputs) * columns(kInputs)));
  kernels().transpose({weights.data(), kInputs, kOutputs, columns(kOutputs), transposed.data()}, 0, kOutputs);
  std::vector<Unit> dx(static_cast<std::size_t>(kSamples * y_stride)), dx_panels(dx.size());
  native_mlp::InputGradient work{};
  work.dy = dy.data();
  work.dy_stride = dy_stride;
  work.outputs = units(kOutputs);
  work.samples = kSamples;
  work.weights = transposed.data();
  work.columns = columns(kInputs);
  work.y = y.data();
  work.y_stride = y_stride;
  work.function = native_mlp::Function::kRelu;
  work.rows = dx.data();
  work.stride = y_stride;
  work.panels = dx_panels.data();
  kernels().input_gradient(work, 0, tiles(kInputs, kSamples));
  std::vector<float> expected;
  for (std::int64_t s = 0; s < kSamples; ++s) {
    for (std::int64_t i = 0; i < kInputs; ++i) {
      float sum = 0;
      for (std::int64_t o = 0; o < kOutputs; ++o) {
        sum += dy_[static_cast<std::size_t>(s * kOutputs + o)] * w_[static_cast<std::size_t>(i * kOutputs + o)];
      }
      sum *= x_[static_cast<std::size_t>(s * kInputs + i)] > 0 ? 1.0F : 0.0F;
      // Sums have more digits than bfloat16: rounded there, to even.
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(sum);
      const std::uint32_t nearest = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000;
      expected.push_back(kernels().unit_values == 1 ? sum : std::bit_cast<float>(nearest));
    }
  }
  const auto expected_rows = rows(expected, kSamples, kInputs, y_stride);
  const auto expected_panels = panels(expected, kSamples, kInputs);
  const auto expect_equal = [](const std::vector<Unit>& found, const std::vector<Unit>& wanted) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(found[i]), std::bit_cast<std::uint32_t>(wanted[i])) << i;
    }
  };
  expect_equal(dx, expected_rows);
  expect_equal(dx_panels, expected_panels);
}

TEST_P(NativeKernels, WeightsAndPixelsAreRoundedToTheNearestBfloat16AndTiesToTheEvenOne) {
  if (kernels().unit_values == 1) return;  // float32 is not rounded
  constexpr std::int64_t kColumns = 16;
  std::vector<float> weights(2 * kColumns, std::bit_cast<float>(0x3f808000));
  std::fill(weights.begin() + kColumns, weights.end(), std::bit_cast<float>(0x3f818000));
  std::vector<Unit> rounded(kColumns);
  kernels().round(weights.data(), 2, kColumns, rounded.data(), 0, 2);
  for (const Unit pair : rounded) EXPECT_EQ(std::bit_cast<std::uint32_t>(pair), 0x3f823f80U);
  // A row of one register and three values, each of which is 1 + 1/256 or 1 + 3/256.
  constexpr std::int64_t kPixels = 19;
  const std::vector<std::uint8_t> first(kPixels, 1), second(kPixels, 3);
  const std::uint8_t* const images[] = {first.data(), second.data()};
  const float scale = 1.0F / 256, shift = 1;
  std::vector<Unit> rows(2 * kPixels), pairs(kPixels);
  kernels().pack_input({images, 2, 1, kPixels, &scale, &shift, rows.data(), kPixels, pairs.data(), kPixels}, 0, 2);
  for (const Unit pair : pairs) EXPECT_EQ(std::bit_cast<std::uint32_t>(pair), 0x3f823f80U);
}

INSTANTIATE_TEST_SUITE_P(Levels, NativeKernels, testing::ValuesIn(levels()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace evener
