#include "engine/native_mlp/cpu/workspace.h"

namespace evener::engine::native_mlp {
namespace {

/// Rounds up to an odd number of cache lines, so that a walk down a column uses every set of the cache.
std::int64_t odd_stride(std::int64_t units) {
  constexpr std::int64_t kLine = 16;  // units of a cache line
  return (up(units, kLine) | 1) * kLine;
}

}  // namespace

OperandLayout::OperandLayout(const std::vector<Dense>& of, const MlpKernels& kernels)
    : layers(of), unit_values(kernels.unit_values), logits_stride(odd_stride(of.back().columns())) {
  for (const Dense& layer : layers) {
    const std::int64_t inputs = up(layer.inputs, kColumns) * kColumns;
    strides.push_back(
        {odd_stride(up(inputs, unit_values)), odd_stride(inputs), odd_stride(up(layer.columns(), unit_values))});
  }
}

Workspace::Workspace(const OperandLayout& layout, std::int64_t samples, Arena& arena) : capacity(samples) {
  const std::int64_t values = layout.unit_values;
  for (std::size_t l = 0; l < layout.layers.size(); ++l) {
    const Strides& strides = layout.strides[l];
    Layer layer;
    if (l > 0) layer.x = arena.take(samples * strides.x);
    if (l > 0 && values > 1) layer.pairs = arena.take(up(samples, values) * strides.pairs);
    if (l > 0 || layout.layers.size() == 1) layer.dy = arena.take(samples * strides.dy);
    layer.dy_panels = arena.take(up(samples, values) * layout.layers[l].columns());
    layers.push_back(std::move(layer));
  }
  logits = arena.take(samples * layout.logits_stride);
  slopes = arena.take(samples * layout.logits_stride);
}

std::vector<WeightOperands> make_weight_operands(const OperandLayout& layout, Arena& arena) {
  const std::int64_t values = layout.unit_values;
  std::vector<WeightOperands> all;
  for (std::size_t l = 0; l < layout.layers.size(); ++l) {
    const Dense& layer = layout.layers[l];
    WeightOperands own;
    if (values > 1) own.rounded = arena.take(layer.columns() * up(layer.inputs, values));
    if (l > 0) own.transposed = arena.take(up(layer.inputs, kColumns) * kColumns * up(layer.outputs, values));
    all.push_back(std::move(own));
  }
  return all;
}

}  // namespace evener::engine::native_mlp
