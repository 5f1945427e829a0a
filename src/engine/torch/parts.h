// Makes what the engine has beside trainers: runners, and products of matrices.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/runner.h"

namespace evener::engine::torch_engine {

/// Why these options can't be met, whatever the network; "" if they can.
std::string runner_refusal(const RunnerOptions& options);

/// Runners of the same network and state, which share their weights.
std::vector<std::unique_ptr<Runner>> make_runners(const network::Network& network, const TensorMap& state,
                                                  const RunnerOptions& options, int count);

/// Products of matrices by at::mm: on the CPU (oneDNN or its BLAS) and on NVIDIA GPUs (cuBLAS).
std::string matrix_refusal(const MatrixOptions& options);
std::unique_ptr<MatrixProduct> make_matrix_product(const MatrixOptions& options);

}  // namespace evener::engine::torch_engine
