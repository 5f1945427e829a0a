// In which types and memory formats a trainer computes.
#pragma once

#include <ATen/ATen.h>

#include <string>

#include "engine/engine.h"
#include "engine/torch/graph.h"
#include "network/network.h"

namespace evener::engine::torch_engine {

/// How a trainer's graph computes.
GraphOptions graph_options(const network::Network& network, const TrainerOptions& options);

/// Whether batch-norm takes the statistics of all replicas.
bool is_synchronised(const network::Network& network, const TrainerOptions& options);

/// Of a CPU replica's convolution weights and their gradients in the same run.
at::MemoryFormat host_memory_format(const network::Network& network, const TrainerOptions& options);

/// Why a network can't be trained as one replica of several with this layout ("" = it can).
std::string replica_refusal(const network::Network& network, const TrainerOptions& options);

}  // namespace evener::engine::torch_engine
