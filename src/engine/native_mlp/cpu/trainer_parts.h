// What the trainers of this engine are made of, on the CPU and on accelerators.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "engine/engine.h"
#include "engine/native_mlp/cpu/memory.h"
#include "engine/native_mlp/cpu/parameters.h"
#include "engine/pixel_scale.h"

namespace evener::engine::native_mlp {

/// How gradients lie in the arrays that replicas exchange.
inline Layout layout_of(const TrainerOptions& options) {
  return options.native.kernels == KernelChoice::kNaive ? Layout::kRowMajor : Layout::kPanels;
}

/// A vector as input counts as pixels of one channel.
PixelScale pixel_scale_of(const network::Network& network, const TrainerOptions& options);

/// The trained parameters: indices into Parameters::entries(), and their names.
struct Trained {
  explicit Trained(const Parameters& parameters);
  std::vector<std::size_t> entries;
  std::vector<std::string> names;
};

/// How far the average of the weights goes to them in the step of this number, from 1 on. The first weights say little:
/// it forgets faster at the start (as TensorFlow's ExponentialMovingAverage).
double average_share(double decay, double step);

/// Empty arrays aren't kept. Names as the torch engine has them: a checkpoint of one can be gone on with by the other.
TensorMap optimizer_tensors(const Parameters& parameters, const Array& momentum, const Array& average, double steps);
/// The opposite; returns the steps.
double read_optimizer_tensors(const TensorMap& from, const Parameters& parameters, const Array& momentum,
                              const Array& average);

}  // namespace evener::engine::native_mlp
