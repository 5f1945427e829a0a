// The arrays of a batch's forward and backward pass.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/native_mlp/cpu/kernels.h"
#include "engine/native_mlp/cpu/layers.h"
#include "engine/native_mlp/cpu/memory.h"

namespace evener::engine::native_mlp {

/// Units from one row of a layer's operands to the next.
struct Strides {
  std::int64_t x = 0, pairs = 0, dy = 0;
};

/// The strides of a network's operands, for these kernels.
struct OperandLayout {
  OperandLayout(const std::vector<Dense>& layers, const MlpKernels& kernels);

  const std::vector<Dense>& layers;
  std::int64_t unit_values;
  std::vector<Strides> strides;  // of each layer
  std::int64_t logits_stride = 0;
};

/// Room for a batch of `samples` samples. The first layer's x is not in it: each thread packs it for itself.
struct Workspace {
  Workspace() = default;
  Workspace(const OperandLayout& layout, std::int64_t samples, Arena& arena);

  /// The input x of a layer, and the derivatives dy with respect to the input of its activation function.
  struct Layer {
    Array x, pairs;       // rows; with pairs also over the samples
    Array dy, dy_panels;  // rows (none of the first layer), panels
  };
  std::int64_t capacity = 0;  // samples
  std::vector<Layer> layers;
  Array logits, slopes;
};

/// The weights of a layer in the forms that the products need.
struct WeightOperands {
  Array rounded;     // as bfloat16; empty with float32
  Array transposed;  // over the inputs; none of the first layer
};
std::vector<WeightOperands> make_weight_operands(const OperandLayout& layout, Arena& arena);

inline std::int64_t up(std::int64_t count, std::int64_t unit) {
  return (count + unit - 1) / unit;
}

}  // namespace evener::engine::native_mlp
