// Parts of this engine's trainers, for the CPU and for accelerators.
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

/// The layout of gradients in the arrays that replicas exchange.
inline Layout layout_of(const TrainerOptions& options) {
  return options.native.kernels == KernelChoice::kNaive ? Layout::kRowMajor : Layout::kPanels;
}

/// The normalisation of a network's input. A vector counts as pixels of one channel.
PixelScale pixel_scale_of(const network::Network& network, const TrainerOptions& options);

/// The trained parameters: indices into Parameters::entries(), and their names.
struct Trained {
  explicit Trained(const Parameters& parameters);
  std::vector<std::size_t> entries;
  std::vector<std::string> names;
};

/// The factor by which the average moves towards the weights in step `step`, counted from 1. The first weights say
/// little, so the average forgets faster at the start (as TensorFlow's ExponentialMovingAverage).
double average_share(double decay, double step);

/// The optimiser's values as tensors; empty arrays are left out. The names are those of the torch engine, so that
/// either engine can resume from the other's checkpoint.
TensorMap optimizer_tensors(const Parameters& parameters, const Array& momentum, const Array& average, double steps);
/// The inverse of optimizer_tensors(); returns the number of steps.
double read_optimizer_tensors(const TensorMap& from, const Parameters& parameters, const Array& momentum,
                              const Array& average);

}  // namespace evener::engine::native_mlp
