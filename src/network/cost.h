// What a network costs per sample: parameters, floating-point operations, bytes of activations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "network/network.h"

namespace evener::network {

/// Counted: products of convolutions and linear layers (2 per multiply-add, plus biases), batch normalisation in
/// training mode (6 per value forward, 7 backward), ReLU 1, sigmoid and tanh 4, SiLU and hard-swish 5, pooling one per
/// value compared or added, sums and products of layers. Not counted: loss, optimiser, conversion of the data.
struct LayerCost {
  std::int64_t parameters = 0;        // trained values
  std::int64_t forward_flops = 0;     // multiply and add count as two
  std::int64_t backward_flops = 0;    // gradients of weights and of inputs (the first layer needs no input gradient)
  std::int64_t activation_bytes = 0;  // output in float32
};

/// One entry per layer of the network, in its order.
std::vector<LayerCost> layer_costs(const Network& network);
LayerCost total_cost(const Network& network);

/// Multiply-adds of convolutions and linear layers per sample, the figure model tables usually give.
std::int64_t forward_macs(const Network& network);

/// Estimated memory of a training step in float32: fixed parts, and what each sample of a batch adds.
struct TrainingMemory {
  std::int64_t weight_bytes = 0;
  std::int64_t gradient_bytes = 0;
  std::int64_t buffer_bytes = 0;      // running statistics
  std::int64_t per_sample_bytes = 0;  // activations kept for the backward pass, and the widest layer's gradients
  /// The widest layer's gradients alone, which exist only while a sample's pass is computed.
  std::int64_t widest_bytes = 0;
  /// Of one layer: its gradient exists beside the sum of earlier ones before it is added to it.
  std::int64_t largest_weight_bytes = 0;

  /// Bytes of one sample whose activations have `bits` bits (activation_bits); weights and gradients stay float32.
  /// Never 0, so that it may be divided by.
  std::int64_t sample_bytes(int bits) const { return std::max<std::int64_t>(1, per_sample_bytes * bits / 32); }
  /// Bytes that don't depend on the batch. `optimizer_slots`: values that the optimiser keeps for each parameter
  /// (engine::optimizer_slots), 1 for SGD with momentum.
  std::int64_t fixed_bytes(int optimizer_slots) const {
    return (1 + optimizer_slots) * weight_bytes + gradient_bytes + buffer_bytes;
  }
};
TrainingMemory training_memory(const Network& network);

/// Bytes that a CPU keeps of convolutions' weights while it computes micro-batches of so many images: in the order of
/// the backward pass, or transformed by Winograd for both passes. In 16 bits (`is_float` false) those of the forward
/// pass come to as much again, so that the sum is that of float32.
std::int64_t reordered_bytes(const Network& network, std::int64_t images, bool is_float);

/// Estimated memory of running a trained network in float32: a fixed part, and what each sample of a call adds.
struct InferenceMemory {
  std::int64_t weight_bytes = 0;      // with running statistics
  std::int64_t per_sample_bytes = 0;  // the most that is held at once of results that later layers still read
};
InferenceMemory inference_memory(const Network& network);

}  // namespace evener::network
