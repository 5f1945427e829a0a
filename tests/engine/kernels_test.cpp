// Our CPU kernels on every instruction set of this machine against plain loops in double.
#include "engine/kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/simd_level.h"
#include "engine/kernels/depthwise_walk.h"
#include "engine/kernels/levels.h"

namespace evener::engine::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <class T>
T rounded(float value);
template <>
float rounded(float value) {
  return value;
}
template <>
BFloat16 rounded(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return {static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}

double value_of(float value) {
  return value;
}
double value_of(BFloat16 value) {
  const std::uint32_t bits = std::uint32_t{value.bits} << 16;
  float wide;
  std::memcpy(&wide, &bits, sizeof(wide));
  return wide;
}

/// Relative error of one rounding to T.
template <class T>
constexpr double kRounding = sizeof(T) == 4 ? 6e-8 : 4e-3;

template <class T>
struct Level {
  const char* name;
  const Kernels<T>* kernels;
};
template <class T>
std::vector<Level<T>> levels();
template <>
std::vector<Level<float>> levels() {
  std::vector<Level<float>> list = {{"baseline", &baseline::level.fp32}};
  if (simd_level() != SimdLevel::kBaseline) list.push_back({"avx2", &avx2::level.fp32});
  if (simd_level() == SimdLevel::kAvx512) list.push_back({"avx512", &avx512::level.fp32});
  return list;
}
template <>
std::vector<Level<BFloat16>> levels() {
  std::vector<Level<BFloat16>> list = {{"baseline", &baseline::level.bf16}};
  if (simd_level() != SimdLevel::kBaseline) list.push_back({"avx2", &avx2::level.bf16});
  if (simd_level() == SimdLevel::kAvx512) list.push_back({"avx512", &avx512::level.bf16});
  return list;
}

template <class T>
std::vector<T> random_values(std::int64_t count, std::uint64_t key, float offset = 0) {
  Random random(5, Purpose::kSynthetic, key, 0);
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(rounded<T>(static_cast<float>(4 * random.uniform() - 2) + offset));
  }
  return values;
}

template <class T>
class Kernel : public testing::Test {};
using Types = testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(Kernel, Types);

// 16 and 8 channels fill vectors of their own; 1, 24 and 37 also take what is left over. 300 rows are two blocks and a
// remainder.
TYPED_TEST(Kernel, MomentsAreThoseOfPlainSums) {
  for (const std::int64_t channels : {1, 8, 16, 24, 37}) {
    const std::int64_t rows = 301;
    const auto x = random_values<TypeParam>(rows * channels, 1, 100);
    const std::vector<float> pivot(static_cast<std::size_t>(channels), 100);
    for (const auto& level : levels<TypeParam>()) {
      std::vector<double> sum(pivot.size(), 1), square(pivot.size(), 2);
      std::vector<float> scratch(2 * pivot.size());
      level.kernels->moments(x.data(), rows, channels, pivot.data(), sum.data(), square.data(), scratch.data());
      for (std::size_t c = 0; c < pivot.size(); ++c) {
        double expected = 1, expected_square = 2;
        for (std::int64_t r = 0; r < rows; ++r) {
          const double value = value_of(x[static_cast<std::size_t>(r * channels) + c]) - 100;
          expected += value;
          expected_square += value * value;
        }
        EXPECT_NEAR(sum[c], expected, 1e-3) << level.name << " " << channels;
        EXPECT_NEAR(square[c], expected_square, 1e-3) << level.name << " " << channels;
      }
    }
  }
}

TYPED_TEST(Kernel, NormalizeAddsTheResidualThenClamps) {
  for (const std::int64_t channels : {1, 8, 16, 24, 37}) {
    const std::int64_t rows = 5;
    const auto x = random_values<TypeParam>(rows * channels, 1),
               residual = random_values<TypeParam>(rows * channels, 2);
    const auto scale = random_values<float>(channels, 3), shift = random_values<float>(channels, 4);
    for (const auto& level : levels<TypeParam>()) {
      for (const bool with_residual : {false, true}) {
        std::vector<TypeParam> y(x.size());
        level.kernels->normalize(x.data(), with_residual ? residual.data() : nullptr, y.data(), rows, channels,
                                 scale.data(), shift.data(), {0, 1.5});
        for (std::size_t i = 0; i < x.size(); ++i) {
          const std::size_t c = i % static_cast<std::size_t>(channels);
          const double sum = value_of(x[i]) * scale[c] + shift[c] + (with_residual ? value_of(residual[i]) : 0);
          EXPECT_NEAR(value_of(y[i]), std::clamp(sum, 0.0, 1.5), 8 * kRounding<TypeParam>) << level.name << " " << i;
        }
      }
    }
  }
}

// Above the size from which results go past the caches.
TYPED_TEST(Kernel, LargeResultsAreTheSame) {
  const std::int64_t rows = 40'000, channels = 64;
  const auto x = random_values<TypeParam>(rows * channels, 1);
  const std::vector<float> scale(channels, 2), shift(channels, 1);
  for (const auto& level : levels<TypeParam>()) {
    std::vector<TypeParam> y(x.size()), part(x.size());
    level.kernels->normalize(x.data(), nullptr, y.data(), rows, channels, scale.data(), shift.data(), {0, 6});
    for (std::int64_t row = 0; row < rows; row += 1000) {
      level.kernels->normalize(x.data() + row * channels, nullptr, part.data() + row * channels, 1000, channels,
                               scale.data(), shift.data(), {0, 6});
    }
    EXPECT_EQ(std::memcmp(y.data(), part.data(), y.size() * sizeof(TypeParam)), 0) << level.name;
  }
}

TYPED_TEST(Kernel, ANanIsNotClamped) {
  const std::int64_t channels = 17;
  const std::vector<TypeParam> x(channels, rounded<TypeParam>(std::nanf("")));
  const std::vector<float> scale(channels, 1), shift(channels, 0);
  for (const auto& level : levels<TypeParam>()) {
    std::vector<TypeParam> y(x.size());
    level.kernels->normalize(x.data(), nullptr, y.data(), 1, channels, scale.data(), shift.data(), {0, 6});
    for (const TypeParam value : y) EXPECT_TRUE(std::isnan(value_of(value))) << level.name;
  }
}

template <class T>
void expect_backward(const Level<T>& level, std::int64_t channels, bool stored_output) {
  const std::int64_t rows = 133;
  const Clamp clamp = {0, 1};
  const auto x = random_values<T>(rows * channels, 1), dy = random_values<T>(rows * channels, 2);
  const auto scale = random_values<float>(channels, 3), shift = random_values<float>(channels, 4);
  const auto mean = random_values<float>(channels, 5), b = random_values<float>(channels, 6);
  const auto y = random_values<T>(rows * channels, 7);
  std::vector<double> sum(mean.size()), sum_x(mean.size()), expected(mean.size()), expected_x(mean.size());
  std::vector<float> scratch(2 * mean.size());
  std::vector<T> passed(x.size()), dx(x.size());
  const NormBackward<T> in = {
      x.data(), stored_output ? y.data() : nullptr, dy.data(), rows, channels, scale.data(), shift.data(), clamp};
  level.kernels->gradient_sums(in, mean.data(), passed.data(), sum.data(), sum_x.data(), scratch.data());
  level.kernels->input_gradient(in, scale.data(), b.data(), shift.data(), dx.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % mean.size();
    const double output =
        stored_output ? value_of(y[i]) : std::fma(static_cast<float>(value_of(x[i])), scale[c], shift[c]);
    const double g = output > clamp.low && output < clamp.high ? value_of(dy[i]) : 0;
    expected[c] += g;
    expected_x[c] += g * (value_of(x[i]) - mean[c]);
    EXPECT_EQ(value_of(passed[i]), g) << level.name << " " << i;
    EXPECT_NEAR(value_of(dx[i]), scale[c] * g + b[c] * value_of(x[i]) + shift[c], 10 * kRounding<T>) << level.name;
  }
  for (std::size_t c = 0; c < mean.size(); ++c) {
    EXPECT_NEAR(sum[c], expected[c], 1e-4) << level.name;
    EXPECT_NEAR(sum_x[c], expected_x[c], 1e-3) << level.name;
  }
}

TYPED_TEST(Kernel, BackwardOfNormalizationCountsWhatTheClampLetPass) {
  for (const std::int64_t channels : {1, 8, 16, 24, 37}) {
    for (const auto& level : levels<TypeParam>()) {
      expect_backward(level, channels, true);
      expect_backward(level, channels, false);
    }
  }
}

template <class T>
std::size_t index(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t height, std::int64_t width,
                  std::int64_t channels, std::int64_t c) {
  return static_cast<std::size_t>(((n * height + h) * width + w) * channels + c);
}

/// Output and both gradients of the convolution itself from the definition; x and dy are what its normalisations make
/// of theirs.
template <class T>
struct Reference {
  std::vector<double> y, dx, dweight;

  Reference(const DepthwiseShape& s, const std::vector<double>& x, const std::vector<float>& weight,
            const std::vector<double>& dy)
      : y(dy.size()), dx(x.size()), dweight(weight.size()) {
    for (std::int64_t n = 0; n < s.batch; ++n)
      for (std::int64_t oh = 0; oh < s.out_height; ++oh)
        for (std::int64_t ow = 0; ow < s.out_width; ++ow)
          for (std::int64_t tap = 0; tap < s.kernel * s.kernel; ++tap) {
            const std::int64_t ih = oh * s.stride - s.padding + tap / s.kernel;
            const std::int64_t iw = ow * s.stride - s.padding + tap % s.kernel;
            if (ih < 0 || ih >= s.height || iw < 0 || iw >= s.width) continue;
            for (std::int64_t c = 0; c < s.channels; ++c) {
              const auto in = index<T>(n, ih, iw, s.height, s.width, s.channels, c);
              const auto out = index<T>(n, oh, ow, s.out_height, s.out_width, s.channels, c);
              const auto w = static_cast<std::size_t>(tap * s.channels + c);
              y[out] += x[in] * weight[w];
              dx[in] += dy[out] * weight[w];
              dweight[w] += dy[out] * x[in];
            }
          }
  }
};

struct Tolerance {
  double absolute, relative;
};

void expect_near(const std::vector<double>& found, const std::vector<double>& expected, const std::string& what,
                 Tolerance tolerance) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], tolerance.absolute + tolerance.relative * std::abs(expected[i]))
        << what << " " << i;
  }
}

template <class T>
std::vector<double> wide(const std::vector<T>& values) {
  std::vector<double> result;
  for (const T value : values) result.push_back(value_of(value));
  return result;
}

/// Which normalisations there are; what they give is rounded to T.
struct Sides {
  bool before, after;
};

template <class T>
void expect_depthwise(const Level<T>& level, DepthwiseShape s, Sides sides) {
  s.out_height = (s.height + 2 * s.padding - s.kernel) / s.stride + 1;
  s.out_width = (s.width + 2 * s.padding - s.kernel) / s.stride + 1;
  const std::string what = std::string(level.name) + ": " + std::to_string(s.height) + "x" + std::to_string(s.width) +
                           ", kernel " + std::to_string(s.kernel) + ", stride " + std::to_string(s.stride) +
                           ", padding " + std::to_string(s.padding) + ", channels " + std::to_string(s.channels) +
                           (sides.before ? ", normalised before" : "") + (sides.after ? ", after" : "");
  const Clamp clamp = {0, 1};
  const auto x = random_values<T>(s.batch * s.height * s.width * s.channels, 1);
  const auto dy = random_values<T>(s.batch * s.out_height * s.out_width * s.channels, 2);
  const auto weight = random_values<float>(s.kernel * s.kernel * s.channels, 3);
  const auto scale = random_values<float>(s.channels, 4), shift = random_values<float>(s.channels, 5);
  const auto mean = random_values<float>(s.channels, 6), pivot = random_values<float>(s.channels, 7);
  const auto slope = random_values<float>(s.channels, 8), offset = random_values<float>(s.channels, 9);
  const ChannelNorm norm = {scale.data(), shift.data(), clamp}, none;
  const auto channel = [&](std::size_t i) { return i % static_cast<std::size_t>(s.channels); };
  const auto passes = [&](const std::vector<T>& in, std::size_t i) {
    const float value = std::fma(static_cast<float>(value_of(in[i])), scale[channel(i)], shift[channel(i)]);
    return value > clamp.low && value < clamp.high;
  };

  std::vector<double> input = wide(x), gradient = wide(dy);
  for (std::size_t i = 0; sides.before && i < x.size(); ++i) {
    const double value = value_of(x[i]) * scale[channel(i)] + shift[channel(i)];
    input[i] = value_of(rounded<T>(static_cast<float>(std::clamp(value, 0.0, 1.0))));
  }
  std::vector<float> flipped;
  for (std::int64_t tap = s.kernel * s.kernel - 1; tap >= 0; --tap) {
    flipped.insert(flipped.end(), weight.begin() + tap * s.channels, weight.begin() + (tap + 1) * s.channels);
  }
  std::vector<T> y(dy.size()), dx(x.size());
  std::vector<double> dweight(weight.size()), sum(mean.size()), square(mean.size()), sum_dx(mean.size()),
      sum_x(mean.size());
  const DepthwiseForward<T> forward = {s, x.data(), sides.before ? norm : none, weight.data(), y.data(), pivot.data()};
  const DepthwiseBackward<T> backward = {s,
                                         x.data(),
                                         sides.before ? norm : none,
                                         mean.data(),
                                         weight.data(),
                                         flipped.data(),
                                         y.data(),
                                         sides.after ? norm : none,
                                         slope.data(),
                                         offset.data(),
                                         dy.data(),
                                         dx.data()};
  const std::int64_t groups = depthwise_groups(s), third = groups / 3;  // in parts, as threads would
  const std::pair<std::int64_t, std::int64_t> parts[] = {{0, third}, {third, groups}};
  for (const auto& [begin, end] : parts) {
    depthwise_forward(*level.kernels, forward, begin, end, sum.data(), square.data());
  }
  for (std::size_t i = 0; sides.after && i < dy.size(); ++i) {
    const double value = (passes(y, i) ? value_of(dy[i]) * scale[channel(i)] : 0) + value_of(y[i]) * slope[channel(i)] +
                         offset[channel(i)];
    gradient[i] = value_of(rounded<T>(static_cast<float>(value)));
  }
  for (const auto& [begin, end] : parts) {
    depthwise_backward(*level.kernels, backward, begin, end, dweight.data(), sum_dx.data(), sum_x.data());
  }

  Reference<T> expected(s, input, weight, gradient);
  // Where float32 and double round to different neighbours in bfloat16, all sums differ by their distance.
  const bool normalised = sides.before || sides.after;
  const Tolerance one = {!normalised ? 1e-5 : sizeof(T) == 4 ? 1e-4 : 0.1, kRounding<T>};
  const double longer = s.out_width > 128 ? 4 : 1;  // float32 sums of a whole row
  const Tolerance total = {longer * (!normalised ? 1e-5 : sizeof(T) == 4 ? 1e-4 : 0.1), longer * kRounding<float>};
  expect_near(wide(y), expected.y, what + ", output", one);
  for (std::size_t i = 0; sides.before && i < x.size(); ++i) expected.dx[i] *= passes(x, i);
  expect_near(wide(dx), expected.dx, what + ", input gradient", one);
  expect_near(dweight, expected.dweight, what + ", weight gradient", total);
  std::vector<double> moments(mean.size()), squares(mean.size()), sums(mean.size()), sums_x(mean.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double value = value_of(y[i]) - pivot[channel(i)];
    moments[channel(i)] += value;
    squares[channel(i)] += value * value;
  }
  expect_near(sum, moments, what + ", sum", {1e-3, 1e-6});
  expect_near(square, squares, what + ", squares", {1e-3, 1e-6});
  if (!sides.before) return;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sums[channel(i)] += value_of(dx[i]);
    sums_x[channel(i)] += value_of(dx[i]) * (value_of(x[i]) - mean[channel(i)]);
  }
  expect_near(sum_dx, sums, what + ", sum of gradients", {1e-3, 1e-6});
  expect_near(sum_x, sums_x, what + ", sum of gradients by x", {1e-3, 1e-6});
}

template <class T>
void expect_depthwise(const Level<T>& level, const DepthwiseShape& s) {
  for (const Sides sides : {Sides{false, false}, Sides{true, false}, Sides{false, true}, Sides{true, true}}) {
    expect_depthwise(level, s, sides);
  }
}

TYPED_TEST(Kernel, DepthwiseConvolutionsFollowTheirDefinition) {
  for (const auto& level : levels<TypeParam>()) {
    for (const std::int64_t kernel : {3, 5, 7}) {
      for (const std::int64_t stride : {1, 2, 3}) {
        for (const std::int64_t padding : {std::int64_t{0}, kernel / 2, kernel - 1}) {
          expect_depthwise(level, {2, 16, 9, 8, 0, 0, kernel, stride, padding});
        }
      }
    }
    for (const std::int64_t channels : {1, 3, 8, 24, 40}) expect_depthwise(level, {2, channels, 7, 5, 0, 0, 3, 2, 1});
    for (const std::int64_t size : {1, 2, 3}) expect_depthwise(level, {1, 24, size, size, 0, 0, 3, 1, 1});
    expect_depthwise(level, {2, 8, 5, 150, 0, 0, 3, 1, 1});  // rows of more pixels than are done together
  }
}

// A vector of each width, and what is left over.
TEST(Kernels, Bfloat16ResultsAreTheNearestAndTiesTheEvenOnes) {
  constexpr std::int64_t kChannels = 37;
  constexpr float kHalfStep = 1.0F / 256;  // between 1 and the next bfloat16
  struct Case {
    std::uint16_t x;
    float shift;
    std::uint16_t y;
  };
  for (const Case& one :
       {Case{0x3f80, kHalfStep, 0x3f80}, Case{0x3f81, kHalfStep, 0x3f82}, Case{0x3f80, 1.01F * kHalfStep, 0x3f81},
        Case{0x3f81, 0.99F * kHalfStep, 0x3f81}, Case{0xbf80, -kHalfStep, 0xbf80}, Case{0xbf81, -kHalfStep, 0xbf82}}) {
    for (const auto& level : levels<BFloat16>()) {
      const std::vector<BFloat16> x(kChannels, BFloat16{one.x});
      const std::vector<float> scale(kChannels, 1), shift(kChannels, one.shift);
      std::vector<BFloat16> y(kChannels);
      level.kernels->normalize(x.data(), nullptr, y.data(), 1, kChannels, scale.data(), shift.data(),
                               {-kInfinity, kInfinity});
      for (std::size_t c = 0; c < y.size(); ++c) {
        EXPECT_EQ(y[c].bits, one.y) << level.name << ", channel " << c << ", shift " << one.shift;
      }
    }
  }
}

TEST(Kernels, TheWidestLevelOfThisProcessorIsChosen) {
  const auto list = levels<float>();
  EXPECT_EQ(&float_kernels(), list.back().kernels);
  EXPECT_STREQ(simd_level_name(), list.back().name);
}

}  // namespace
}  // namespace evener::engine::kernels
