// The memory of a training step over its course: what is there when.
#pragma once

#include <cstdint>
#include <vector>

#include "network/network.h"

namespace evener::network {

/// For each layer whether a backward pass needs the gradient of its result: it or one before it has trained parameters.
std::vector<bool> needs_gradient(const Network& network);

/// Bytes that are there however many samples a step has, and for each of them.
struct Bytes {
  std::int64_t fixed = 0, per_sample = 0;

  std::int64_t of(std::int64_t samples) const { return fixed + samples * per_sample; }
  Bytes& operator+=(const Bytes& other);
  Bytes& operator-=(const Bytes& other);
};

struct StepOptions {
  int bits = 32;         // of a layer's values (activation_bits)
  int threads = 1;       // that convolutions divide their work over
  bool adds_up = false;  // the gradients of an earlier part of the batch are there, and this one's are added to them
};

/// What the tensors of a training step take beside weights and the optimiser's values, where the torch engine computes
/// on CPUs, from moment to moment: values until their last reader has them and, where the backward pass reads them
/// again, until it has; gradients of values between the layer that gives them and the one that takes them; gradients of
/// weights, which stay until the next step; and what convolutions work in. Linear in the samples at each moment, so the
/// most is found without computing.
class StepMemory {
 public:
  explicit StepMemory(const Network& network, const StepOptions& options = {});

  /// The most that a step of so many samples holds at a time.
  std::int64_t peak_bytes(std::int64_t samples) const;

 private:
  std::vector<Bytes> moments_;  // those of which no other is larger in both
};

}  // namespace evener::network
