// Estimates the peak memory of a training step, by following what is allocated at each moment of it.
#pragma once

#include <cstdint>
#include <vector>

#include "network/network.h"

namespace evener::network {

/// For each layer whether a backward pass needs the gradient of its result: it or one before it has trained parameters.
std::vector<bool> needs_gradient(const Network& network);

/// A number of bytes that grows linearly with the number of samples in a step.
struct Bytes {
  std::int64_t fixed = 0, per_sample = 0;

  std::int64_t of(std::int64_t samples) const { return fixed + samples * per_sample; }
  Bytes& operator+=(const Bytes& other);
  Bytes& operator-=(const Bytes& other);
};

struct StepOptions {
  int bits = 32;    // of a layer's values (activation_bits)
  int threads = 1;  // that convolutions divide their work among
  /// Whether gradients of an earlier part of the batch exist already, to which this part's are added.
  bool adds_up = false;
  /// Of a stage of a network: whether its inputs are images, and whether a loss is computed of its outputs. Otherwise
  /// the gradients of its inputs are computed too, and those of its outputs are given.
  bool is_first = true, is_last = true;
  /// Whether a stage that isn't the first copies its inputs, as a GPU does; a CPU reads them where they came.
  bool copies_inputs = false;
  /// Whether the scratch memory of convolutions counts, which no tensor has.
  bool has_scratch = true;
};

/// The memory of a training step's tensors where the torch engine computes on CPUs, without weights and the optimiser's
/// state. Counted are: activations until their last reader has read them, in the forward or the backward pass;
/// gradients of activations from the layer that computes them to the one that reads them; gradients of weights, which
/// stay until the next step; and the scratch memory of convolutions. Each moment's memory is linear in the number of
/// samples, so the peak for any number is found without walking through the step again.
class StepMemory {
 public:
  explicit StepMemory(const Network& network, const StepOptions& options = {});

  /// The peak memory of a step of `samples` samples.
  std::int64_t peak_bytes(std::int64_t samples) const;
  /// What is kept of them between the forward and the backward pass, without gradients of weights.
  std::int64_t kept_bytes(std::int64_t samples) const { return kept_.of(samples); }

 private:
  Bytes kept_;
  std::vector<Bytes> moments_;  // without those that another one exceeds in both parts
};

}  // namespace evener::network
