// Makes what the engine has: trainers of perceptrons, and products of matrices.
#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"

namespace evener::engine::native_mlp {

/// Why this engine can't train the network with these options; "" if it can.
std::string why_not(const network::Network& network, const TrainerOptions& options);

/// Bytes of memory for replicas that share their weights; 0 where the optimiser needs all gradients at once, or values
/// that the shared arrays lack.
std::size_t shared_bytes(const network::Network& network, const TrainerOptions& options, int replicas);

std::unique_ptr<Trainer> make_trainer(const network::Network& network, const TrainerOptions& options);

std::string matrix_refusal(const MatrixOptions& options);
std::unique_ptr<MatrixProduct> make_matrix_product(const MatrixOptions& options);

}  // namespace evener::engine::native_mlp
