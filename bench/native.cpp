// The native engine's kernels one by one, on one thread: GFLOP/s, and the share of what `evener doctor --peaks`
// measures (multiply-adds for products, reading memory for the update). Arguments: samples, inputs, outputs.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/native_mlp/cpu/kernels.h"
#include "engine/native_mlp/cpu/memory.h"
#include "measure/peaks.h"

namespace evener {
namespace {

namespace native_mlp = engine::native_mlp;
using native_mlp::Array;

const measure::Peaks& peaks() {
  static const measure::Peaks measured = measure::measure_peaks();
  return measured;
}

std::int64_t up(std::int64_t count, std::int64_t unit) {
  return (count + unit - 1) / unit;
}

/// Operands of one layer, all zero: the processor takes as long for them as for others.
struct Layer {
  Layer(const native_mlp::MlpKernels& table, std::int64_t samples, std::int64_t inputs, std::int64_t outputs)
      : kernels(table),
        samples(samples),
        inputs(inputs),
        outputs(outputs),
        columns(up(outputs, 16) * 16),
        input_units(up(inputs, table.unit_values)),
        sample_units(up(samples, table.unit_values)),
        x_stride((up(inputs, 16) | 1) * 16),
        y_stride((up(columns, 16) | 1) * 16) {}

  static Array array(std::int64_t count) { return Array(static_cast<std::size_t>(count)); }
  std::int64_t tiles(std::int64_t all_columns, std::int64_t rows) const {
    return up(all_columns, native_mlp::kPanel) * up(rows, kernels.tile_rows);
  }
  double flops() const { return 2.0 * static_cast<double>(samples * inputs * outputs); }

  const native_mlp::MlpKernels& kernels;
  const std::int64_t samples, inputs, outputs, columns, input_units, sample_units, x_stride, y_stride;
  Array x = array((samples + 1) * x_stride), pairs = array((samples + 1) * x_stride);
  Array weights = array(columns * inputs), rounded = array(columns * (inputs + 1)), bias = array(columns);
  Array y = array((samples + 1) * y_stride), y_pairs = array((samples + 1) * y_stride);
  Array dy = array((samples + 1) * y_stride), dy_panels = array((samples + 1) * columns);
  Array transposed = array(up(inputs, 16) * 16 * (outputs + 1)), gradients = array(columns * inputs);
  Array dx = array((samples + 1) * x_stride), dx_panels = array((samples + 1) * x_stride);
};

Layer layer_of(const benchmark::State& state, const native_mlp::MlpKernels& kernels) {
  return {kernels, state.range(0), state.range(1), state.range(2)};
}

void report_flops(benchmark::State& state, const Layer& layer, bool pairs) {
  const double done = layer.flops() * static_cast<double>(state.iterations());
  const double peak = pairs ? peaks().bf16_gflops.value_or(0) : peaks().fma_gflops;
  state.counters["GFLOP/s"] = benchmark::Counter(done / 1e9, benchmark::Counter::kIsRate);
  state.counters["of_peak"] = benchmark::Counter(done / 1e9 / peak, benchmark::Counter::kIsRate);
}

void forward(benchmark::State& state, const native_mlp::MlpKernels& kernels) {
  const Layer layer = layer_of(state, kernels);
  const bool pairs = kernels.unit_values == 2;
  const native_mlp::Forward work{layer.x.data(),
                                 layer.x_stride,
                                 layer.input_units,
                                 layer.samples,
                                 pairs ? layer.rounded.data() : layer.weights.data(),
                                 layer.columns,
                                 layer.bias.data(),
                                 native_mlp::Function::kRelu,
                                 layer.y.data(),
                                 layer.y_stride,
                                 pairs ? layer.y_pairs.data() : nullptr,
                                 layer.y_stride,
                                 nullptr,
                                 0};
  for (auto _ : state) kernels.forward(work, 0, layer.tiles(layer.columns, layer.samples));
  report_flops(state, layer, pairs);
}

void weight_gradient(benchmark::State& state, const native_mlp::MlpKernels& kernels, bool update) {
  const Layer layer = layer_of(state, kernels);
  const bool pairs = kernels.unit_values == 2;
  native_mlp::WeightGradient work{};
  work.x = pairs ? layer.pairs.data() : layer.x.data();
  work.x_stride = layer.x_stride;
  work.inputs = layer.inputs;
  work.dy = layer.dy_panels.data();
  work.columns = layer.columns;
  work.samples = layer.sample_units;
  work.gradient = update ? nullptr : layer.gradients.data();
  work.weights = layer.weights.data();
  work.rounded = layer.rounded.data();
  for (auto _ : state) kernels.weight_gradient(work, 0, layer.tiles(layer.columns, layer.inputs));
  report_flops(state, layer, pairs);
}

void input_gradient(benchmark::State& state, const native_mlp::MlpKernels& kernels) {
  const Layer layer = layer_of(state, kernels);
  const std::int64_t columns = up(layer.inputs, 16) * 16;
  const native_mlp::InputGradient work{layer.dy.data(), layer.y_stride,          up(layer.outputs, kernels.unit_values),
                                       layer.samples,   layer.transposed.data(), columns,
                                       layer.x.data(),  layer.x_stride,          native_mlp::Function::kRelu,
                                       layer.dx.data(), layer.x_stride,          layer.dx_panels.data()};
  for (auto _ : state) kernels.input_gradient(work, 0, layer.tiles(columns, layer.samples));
  report_flops(state, layer, kernels.unit_values == 2);
}

/// Bytes are those read and written of weights and gradients.
void report_bytes(benchmark::State& state, double bytes) {
  const double done = bytes * static_cast<double>(state.iterations()) / 1e9;
  state.counters["GB/s"] = benchmark::Counter(done, benchmark::Counter::kIsRate);
  state.counters["of_memory"] = benchmark::Counter(done / peaks().memory_gb_per_s, benchmark::Counter::kIsRate);
}

void transpose(benchmark::State& state, const native_mlp::MlpKernels& kernels) {
  const Layer layer = layer_of(state, kernels);
  for (auto _ : state) {
    kernels.transpose({layer.weights.data(), layer.inputs, layer.outputs, layer.columns, layer.transposed.data()}, 0,
                      layer.outputs);
  }
  report_bytes(state, 2.0 * 4 * static_cast<double>(layer.inputs * layer.outputs));
}

void update(benchmark::State& state, const native_mlp::MlpKernels& kernels) {
  const Layer layer = layer_of(state, kernels);
  const std::int64_t values = layer.columns * layer.inputs;
  for (auto _ : state) {
    kernels.update({0.1F, 0, 0, false}, layer.weights.data(), layer.gradients.data(), nullptr, 0, values);
  }
  report_bytes(state, 3.0 * 4 * static_cast<double>(values));
}

void pack_input(benchmark::State& state, const native_mlp::MlpKernels& kernels) {
  const Layer layer = layer_of(state, kernels);
  const std::vector<std::uint8_t> images(static_cast<std::size_t>(layer.samples * layer.inputs), 7);
  const float scale = 1.0F / 255, shift = -0.4F;
  std::vector<const std::uint8_t*> places;
  for (std::int64_t i = 0; i < layer.samples; ++i) places.push_back(images.data() + i * layer.inputs);
  const native_mlp::PackInput work{
      places.data(),  layer.samples,  1,
      layer.inputs,   &scale,         &shift,
      layer.x.data(), layer.x_stride, kernels.unit_values == 2 ? layer.pairs.data() : nullptr,
      layer.x_stride};
  for (auto _ : state) kernels.pack_input(work, 0, layer.samples);
  report_bytes(state, 5.0 * static_cast<double>(layer.samples * layer.inputs));
}

void add(const std::string& level, const native_mlp::MlpKernels& kernels) {
  const auto each = [&](const char* name, auto body) {
    auto* benchmark = benchmark::RegisterBenchmark((level + "/" + name).c_str(),
                                                   [body, &kernels](benchmark::State& state) { body(state, kernels); });
    benchmark->Args({64, 784, 256})->Args({64, 256, 10})->Args({512, 784, 500})->Unit(benchmark::kMicrosecond);
  };
  each("pack_input", pack_input);
  each("forward", forward);
  each("input_gradient", input_gradient);
  each("weight_gradient", [](auto& state, const auto& table) { weight_gradient(state, table, false); });
  each("weight_gradient_update", [](auto& state, const auto& table) { weight_gradient(state, table, true); });
  each("transpose", transpose);
  each("update", update);
}

}  // namespace
}  // namespace evener

int main(int argc, char** argv) {
  using namespace evener;
  add("baseline", native_mlp::baseline::table);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) add("avx2", native_mlp::avx2::table);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq")) {
    add("avx512", native_mlp::avx512::table);
    if (__builtin_cpu_supports("avx512bf16")) add("avx512_bf16", native_mlp::avx512_bf16::table);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
