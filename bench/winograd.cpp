// Our Winograd kernels on one thread, for each of a layer's three products: effective GFLOP/s, which is what a direct
// convolution would have had to compute, and the ratio to the multiply-add peak that `evener doctor --peaks` measures.
// Where Debian's libdnnl 2.6 is installed, its direct and Winograd convolutions beside them (reorders not counted).
// Arguments: channels in and out, height, width, images.
#include "bench/winograd.h"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/simd_level.h"
#include "engine/kernels/levels.h"
#include "measure/peaks.h"

namespace evener {
namespace {

namespace kernels = engine::kernels;
using kernels::BFloat16;
using kernels::WinogradKernels;
using kernels::WinogradProducts;
using kernels::WinogradShape;
using Values = std::vector<float>;

constexpr kernels::Clamp kNoClamp = {-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()};

Values values(std::int64_t count) {
  return Values(static_cast<std::size_t>(count), 0.5F);
}

/// Operands of one layer, with images of T.
template <class T>
struct Layer {
  Layer(const ConvolutionSize& size, WinogradProducts products)
      : shape{size.images, size.height, size.width, size.channels, size.channels, 1, products},
        x(static_cast<std::size_t>(shape.batch * shape.height * shape.width * shape.in_channels)),
        y(x) {}

  kernels::WinogradWeights taps() const {
    const std::int64_t c = shape.in_channels;
    return {weights.data(), {9 * c, 1, 3 * c, c}, c, c};
  }

  WinogradShape shape;
  std::vector<T> x, y;
  Values weights = values(9 * shape.in_channels * shape.out_channels);
  Values transformed = values(shape.weight_units()), sums = values(shape.sum_values());
};

/// The transform of the weights is part of each pass, as in training.
template <class T>
void convolve(const WinogradKernels<T>& table, Layer<T>& layer, const kernels::WinogradWeights& weights) {
  static thread_local Values scratch;
  scratch.resize(static_cast<std::size_t>(kernels::winograd_scratch_units(layer.shape)));
  table.transform_weights(weights, layer.transformed.data(), 0, layer.shape.out_channels / 16);
  const kernels::WinogradForward<T> work{.shape = layer.shape,
                                         .x = layer.x.data(),
                                         .weights = layer.transformed.data(),
                                         .y = layer.y.data(),
                                         .clamp = kNoClamp};
  table.forward(work, scratch.data(), {0, layer.shape.tiles(), 0, layer.shape.out_channels});
}

template <class T>
void sum_gradient(const WinogradKernels<T>& table, Layer<T>& layer) {
  const std::int64_t channels = layer.shape.out_channels;
  const kernels::WinogradGradient<T> work{
      layer.shape, layer.x.data(), layer.y.data(), layer.sums.data(), {0, layer.shape.tiles(), 0, channels}};
  static thread_local Values scratch;
  scratch.resize(static_cast<std::size_t>(kernels::winograd_gradient_scratch_units(layer.shape, channels)));
  table.sum_gradient(work, scratch.data());
  table.finish_gradient(layer.shape, layer.sums.data(), layer.weights.data(), layer.taps().steps, 0, channels / 16);
}

ConvolutionSize size_of(const benchmark::State& state) {
  return {state.range(0), state.range(1), state.range(2), state.range(3)};
}

void report(benchmark::State& state) {
  static const double peak = measure::measure_peaks().fma_gflops;
  const ConvolutionSize size = size_of(state);
  const double multiply_adds =
      9.0 * static_cast<double>(size.channels * size.channels * size.height * size.width * size.images);
  const double done = 2e-9 * multiply_adds * static_cast<double>(state.iterations());
  state.counters["GFLOP/s"] = benchmark::Counter(done, benchmark::Counter::kIsRate);
  state.counters["of_peak"] = benchmark::Counter(done / peak, benchmark::Counter::kIsRate);
}

template <class Body>
void add(const std::string& name, const Body& body) {
  benchmark::RegisterBenchmark(name.c_str(), body)
      ->Args({32, 32, 32, 64})
      ->Args({64, 37, 50, 32})
      ->Args({128, 19, 25, 32})
      ->Args({256, 10, 13, 32})
      ->Args({512, 5, 7, 32})
      ->Unit(benchmark::kMillisecond);
}

template <class T>
void add_level(const std::string& level, const WinogradKernels<T>& table) {
  const auto each = [&](const char* name, auto product) {
    add(level + "/" + name, [product, &table](benchmark::State& state) {
      Layer<T> layer(size_of(state), table.products);
      for (auto _ : state) product(layer);
      report(state);
    });
  };
  each("forward", [&](Layer<T>& layer) { convolve(table, layer, layer.taps()); });
  each("input_gradient", [&](Layer<T>& layer) { convolve(table, layer, layer.taps().turned()); });
  each("weight_gradient", [&](Layer<T>& layer) { sum_gradient(table, layer); });
}

}  // namespace
}  // namespace evener

int main(int argc, char** argv) {
  using namespace evener;
  for (const Peer& peer : peers()) {
    add(peer.name, [peer](benchmark::State& state) {
      const auto run = peer.make(size_of(state));
      for (auto _ : state) run();
      report(state);
    });
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    add_level("avx2", kernels::avx2::level.winograd.fp32);
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq")) {
    add_level("avx512", kernels::avx512::level.winograd.fp32);
    add_level("avx512_bfloat16_images", kernels::avx512::level.winograd.bf16);
  }
  if (has_bfloat16_products()) add_level("avx512_bfloat16_products", kernels::avx512_bf16::winograd_kernels);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
