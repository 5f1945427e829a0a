// Chooses the number types and memory formats that a trainer computes in.
#pragma once

#include <ATen/ATen.h>

#include <string>

#include "engine/engine.h"
#include "engine/torch/graph.h"
#include "network/network.h"

namespace evener::engine::torch_engine {

/// The options of a trainer's graph.
GraphOptions graph_options(const network::Network& network, const TrainerOptions& options);

/// Whether batch-norm takes the statistics of all replicas.
bool is_synchronised(const network::Network& network, const TrainerOptions& options);

/// The memory format of convolution weights and gradients on the CPU replicas of the same run, which replicas on other
/// devices use for exchanging gradients.
at::MemoryFormat host_memory_format(const network::Network& network, const TrainerOptions& options);

/// Why a network can't be trained as one replica of several with this layout ("" = it can).
std::string replica_refusal(const network::Network& network, const TrainerOptions& options);

}  // namespace evener::engine::torch_engine
