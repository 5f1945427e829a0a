// What the trainers of this engine have in common, on the CPU and on accelerators.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "engine/engine.h"
#include "engine/native_mlp/memory.h"
#include "engine/native_mlp/mlp.h"
#include "engine/native_mlp/parameters.h"

namespace evener::engine::native_mlp {

/// How gradients lie in the arrays that replicas exchange.
inline Layout layout_of(const TrainerOptions& options) {
  return options.native.kernels == KernelChoice::kNaive ? Layout::kRowMajor : Layout::kPanels;
}

/// A vector as input counts as pixels of one channel.
PixelScale pixel_scale_of(const network::Network& network, const TrainerOptions& options);

/// Throws Error when images or labels aren't those of a network with so many inputs and outputs.
void check_batch(const data::Batch& batch, std::int64_t inputs, std::int64_t classes);

/// The trained parameters: indices into Parameters::entries(), and their names.
struct Trained {
  explicit Trained(const Parameters& parameters);
  std::vector<std::size_t> entries;
  std::vector<std::string> names;
};

/// Calls `ready` with the index into `trained` of each parameter of a layer, last ones first, as the torch engine has
/// them.
void report_layer(const Dense& layer, const Trained& trained, const std::function<void(std::size_t)>& ready);

/// As torch.nn.utils.clip_grad_norm_: by the norm of all gradients taken as one vector. 0 = never.
void clip_gradients(ExchangesGradients& gradients, double norm);

/// How far the average of the weights goes to them in the step of this number, from 1 on. The first weights say little:
/// it forgets faster at the start (as TensorFlow's ExponentialMovingAverage).
double average_share(double decay, double step);

/// Empty arrays aren't kept. Names as the torch engine has them: a checkpoint of one can be gone on with by the other.
TensorMap optimizer_tensors(const Parameters& parameters, const Array& momentum, const Array& average, double steps);
/// The opposite; returns the steps.
double read_optimizer_tensors(const TensorMap& from, const Parameters& parameters, const Array& momentum,
                              const Array& average);

}  // namespace evener::engine::native_mlp
