// Our Winograd kernels on every instruction set of this machine against plain loops in double.
#include "engine/kernels/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/simd_level.h"
#include "engine/kernels/levels.h"

namespace evener::engine::kernels {
namespace {

constexpr float kUnbounded = std::numeric_limits<float>::infinity();

struct WinogradLevel {
  const char* name;
  const WinogradTable* table;
};
std::vector<WinogradLevel> winograd_levels() {
  std::vector<WinogradLevel> list = {{"baseline", &baseline::level.winograd}};
  if (simd_level() != SimdLevel::kBaseline) list.push_back({"avx2", &avx2::level.winograd});
  if (simd_level() == SimdLevel::kAvx512) list.push_back({"avx512", &avx512::level.winograd});
  return list;
}

using Values = std::vector<float>;

Values random_values(std::int64_t count, std::uint64_t stream) {
  Values values(static_cast<std::size_t>(count));
  Random random(7, Purpose::kSynthetic, stream, 0);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

Values room(std::int64_t count) {
  return Values(static_cast<std::size_t>(count), std::numeric_limits<float>::quiet_NaN());
}

/// One convolution with its gradients, computed plainly in double. Weights are (O, 3, 3, I).
struct Case {
  explicit Case(const WinogradShape& s) : shape(s) {
    const auto at = [](std::int64_t index) { return static_cast<std::size_t>(index); };
    const std::int64_t height = s.out_height(), width = s.out_width(), in = s.in_channels, out = s.out_channels;
    x = random_values(s.batch * s.height * s.width * in, 1);
    weights = random_values(out * 9 * in, 2);
    dy = random_values(s.batch * height * width * out, 3);
    y.assign(dy.size(), 0);
    dx.assign(x.size(), 0);
    dw.assign(weights.size(), 0);
    for (std::int64_t pixel = 0; pixel < s.batch * height * width; ++pixel) {
      const std::int64_t image = pixel / (height * width), row = pixel / width % height, column = pixel % width;
      for (int tap = 0; tap < 9; ++tap) {
        const std::int64_t r = row + tap / 3 - s.padding, c = column + tap % 3 - s.padding;
        if (r < 0 || r >= s.height || c < 0 || c >= s.width) continue;
        const std::int64_t from = ((image * s.height + r) * s.width + c) * in;
        for (std::int64_t o = 0; o < out; ++o) {
          const std::int64_t to = pixel * out + o, weight = (o * 9 + tap) * in;
          for (std::int64_t i = 0; i < in; ++i) {
            y[at(to)] += double{x[at(from + i)]} * weights[at(weight + i)];
            dx[at(from + i)] += double{dy[at(to)]} * weights[at(weight + i)];
            dw[at(weight + i)] += double{dy[at(to)]} * x[at(from + i)];
          }
        }
      }
    }
  }

  WeightSteps steps() const { return {9 * shape.in_channels, 1, 3 * shape.in_channels, shape.in_channels}; }
  WinogradWeights taps() const { return {weights.data(), steps(), shape.in_channels, shape.out_channels}; }

  WinogradShape shape;
  Values x, weights, dy;
  std::vector<double> y, dx, dw;
};

/// Norm of the difference, in parts of the expected norm.
double error_of(const Values& found, const std::vector<double>& expected) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference += (found[i] - expected[i]) * (found[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  return std::sqrt(difference / norm);
}

/// What images consist of, from float32 and back.
template <class T>
std::vector<T> images_of(const Values& values) {
  std::vector<T> images;
  for (const float value : values) {
    if constexpr (std::is_same_v<T, float>) {
      images.push_back(value);
    } else {
      const auto bits = std::bit_cast<std::uint32_t>(value);
      images.push_back({static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)});
    }
  }
  return images;
}
Values to_floats(const std::vector<BFloat16>& values) {
  Values floats;
  for (const BFloat16 value : values) floats.push_back(std::bit_cast<float>(std::uint32_t{value.bits} << 16));
  return floats;
}
const Values& to_floats(const Values& values) {
  return values;
}

template <class T>
std::vector<T> convolved(const WinogradKernels<T>& kernels, const WinogradShape& of, const std::vector<T>& x,
                         const WinogradWeights& weights,
                         WinogradForward<T> rest = {.clamp = {-kUnbounded, kUnbounded}}) {
  WinogradShape shape = of;
  shape.products = kernels.products;
  Values transformed = room(shape.weight_units()), scratch = room(winograd_scratch_units(shape));
  const std::int64_t blocks = shape.out_channels / 16;
  kernels.transform_weights(weights, transformed.data(), 0, blocks / 2);
  kernels.transform_weights(weights, transformed.data(), blocks / 2, blocks);
  auto y = images_of<T>(room(shape.batch * shape.out_height() * shape.out_width() * shape.out_channels));
  rest.shape = shape;
  rest.x = x.data();
  rest.weights = transformed.data();
  rest.y = y.data();
  const std::int64_t some = shape.tiles() / 3, tiles = shape.tiles(), out = shape.out_channels;
  const std::int64_t panel = std::min(kWinogradPanel, out);
  kernels.forward(rest, scratch.data(), {0, some, 0, out});
  kernels.forward(rest, scratch.data(), {some, tiles, 0, panel});
  kernels.forward(rest, scratch.data(), {some, tiles, panel, out});
  return y;
}

template <class T>
Values weight_gradient(const WinogradKernels<T>& kernels, const Case& c, const std::vector<T>& x,
                       const std::vector<T>& dy) {
  WinogradShape shape = c.shape;
  shape.products = kernels.products;
  Values sums = room(shape.sum_values());
  const std::int64_t out = shape.out_channels;
  for (std::int64_t channel = 0; channel < out; channel += kWinogradPanel) {
    const std::int64_t end = std::min(channel + kWinogradPanel, out);
    Values scratch = room(winograd_gradient_scratch_units(shape, end - channel));
    kernels.sum_gradient({shape, x.data(), dy.data(), sums.data(), 0, shape.tiles(), channel, end}, scratch.data());
  }
  Values gradient = room(out * 9 * shape.in_channels);
  kernels.finish_gradient(shape, sums.data(), gradient.data(), c.steps(), 0, out / 16);
  return gradient;
}

/// Ten times what one rounding of float32 comes to: what the issue of these kernels allows, and about twice what was
/// seen. Direct sums of float32 come to 0.2e-6.
constexpr double kMostError = 2e-6;
/// The same of images in bfloat16: two roundings of 1.7e-3 each, of x and of y or dy; 2.7e-3 was seen.
constexpr double kMostErrorOfBfloat16 = 3e-3;

/// All three products of a case, with images of T.
template <class T>
void expect_plain(const Case& c, const WinogradKernels<T>& kernels, double most) {
  const std::vector<T> x = images_of<T>(c.x), dy = images_of<T>(c.dy);
  EXPECT_LT(error_of(to_floats(convolved(kernels, c.shape, x, c.taps())), c.y), most);
  EXPECT_LT(error_of(to_floats(convolved(kernels, c.shape.turned(), dy, c.taps().turned())), c.dx), most);
  EXPECT_LT(error_of(weight_gradient(kernels, c, x, dy), c.dw), most);
}

const std::vector<WinogradShape>& shapes() {
  static const std::vector<WinogradShape> list = {
      {2, 7, 9, 16, 16, 0}, {1, 5, 7, 32, 80, 1},     {3, 8, 8, 48, 64, 1},   {1, 1, 1, 16, 32, 1},
      {2, 4, 3, 64, 16, 2}, {1, 10, 13, 128, 144, 1}, {9, 12, 12, 16, 16, 1}, {1, 5, 3, 256, 32, 1}};
  return list;
}

TEST(Winograd, EqualsPlainLoopsOnEveryLevel) {
  for (const WinogradShape& shape : shapes()) {
    const Case c(shape);
    for (const WinogradLevel& level : winograd_levels()) {
      SCOPED_TRACE(std::string(level.name) + " " + std::to_string(shape.in_channels) + " to " +
                   std::to_string(shape.out_channels) + " channels, padding " + std::to_string(shape.padding));
      expect_plain(c, level.table->fp32, kMostError);
      expect_plain(c, level.table->bf16, kMostErrorOfBfloat16);
    }
  }
}

/// What follows a convolution, and its results plainly before and after they are clamped.
struct Rest {
  explicit Rest(const Case& c)
      : bias(random_values(c.shape.out_channels, 4)),
        residual(random_values(static_cast<std::int64_t>(c.y.size()), 5)) {
    for (std::size_t i = 0; i < c.y.size(); ++i) {
      before.push_back(c.y[i] + bias[i % bias.size()] + residual[i]);
      after.push_back(std::clamp<double>(before[i], clamp.low, clamp.high));
    }
  }

  const Clamp clamp = {0, 6};
  const Values bias, residual;
  std::vector<double> before, after;
};

/// A convolution's images of T, with bias, residual and clamp.
template <class T>
double error_with_rest(const Case& c, const WinogradKernels<T>& kernels) {
  const Rest rest(c);
  const std::vector<T> residual = images_of<T>(rest.residual);
  const WinogradForward<T> work{.bias = rest.bias.data(), .residual = residual.data(), .clamp = rest.clamp};
  return error_of(to_floats(convolved(kernels, c.shape, images_of<T>(c.x), c.taps(), work)), rest.after);
}

/// By how much clamping can widen an error that is told in parts of the norm: it brings no two values farther apart.
double widened_by_clamp(const Case& c) {
  const Rest rest(c);
  const auto square_sum = [](const std::vector<double>& values) {
    return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
  };
  return std::sqrt(square_sum(rest.before) / square_sum(rest.after));
}

/// Of products of bfloat16, whose operands are rounded once transformed; 4.9e-3 was seen.
constexpr double kMostErrorOfPairs = 5.5e-3;

TEST(Winograd, ProductsOfBfloat16EqualPlainLoops) {
  if (!has_bfloat16_products()) GTEST_SKIP() << "this processor has no products of bfloat16 (AVX512-BF16)";
  for (const WinogradShape& shape : shapes()) {
    const Case c(shape);
    SCOPED_TRACE(std::to_string(shape.in_channels) + " to " + std::to_string(shape.out_channels) +
                 " channels, padding " + std::to_string(shape.padding));
    expect_plain(c, avx512_bf16::winograd_kernels, kMostErrorOfPairs);
    EXPECT_LT(error_with_rest(c, avx512_bf16::winograd_kernels), kMostErrorOfPairs * widened_by_clamp(c));
  }
}

TEST(Winograd, AddsBiasAndResidualAndClamps) {
  const Case c({1, 6, 5, 16, 80, 1});
  for (const WinogradLevel& level : winograd_levels()) {
    EXPECT_LT(error_with_rest(c, level.table->fp32), kMostError) << level.name;
    EXPECT_LT(error_with_rest(c, level.table->bf16), kMostErrorOfBfloat16) << level.name;
  }
}

TEST(Winograd, NoTilesGiveNoGradient) {
  const WinogradShape shape{0, 6, 6, 16, 16, 1};
  for (const WinogradLevel& level : winograd_levels()) {
    const Case c(shape);
    const Values gradient = weight_gradient(level.table->fp32, c, c.x, c.dy);
    EXPECT_EQ(gradient, Values(gradient.size(), 0)) << level.name;
  }
}

TEST(Winograd, SaysWhatItIsMadeFor) {
  EXPECT_TRUE(winograd_supported({1, 4, 4, 32, 16, 1}));
  EXPECT_FALSE(winograd_supported({1, 4, 4, 3, 16, 1}));
  EXPECT_FALSE(winograd_supported({1, 4, 4, 16, 24, 1}));
  EXPECT_FALSE(winograd_supported({1, 4, 4, 16, 16, 3}));
  EXPECT_FALSE(winograd_supported({1, 2, 4, 16, 16, 0}));
}

}  // namespace
}  // namespace evener::engine::kernels
