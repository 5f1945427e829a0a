// The second and the third network of MTCNN, which see parts of a photo that were brought to one size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/tensor.h"
#include "engine/engine.h"
#include "network/passes/fold_batch_norm.h"

namespace evener::task {

/// (x - 127.5) / 128 of a value from 0 to 255: what MTCNN's networks take.
inline float normalized_value(float value) {
  return (value - 127.5F) * 0.0078125F;
}

/// Lets a runner do the same; networks that embed faces take such values, too.
void set_face_normalization(engine::RunnerOptions& options);

/// An output for several parts: output(p, i) is value i of part p.
struct PartValues {
  const float* values = nullptr;
  std::int64_t value_step = 1, part_step = 1;

  float operator()(std::size_t part, std::size_t i) const {
    return values[static_cast<std::int64_t>(i) * value_step + static_cast<std::int64_t>(part) * part_step];
  }
};

/// Not thread-safe.
class PartNetwork {
 public:
  virtual ~PartNetwork() = default;

  /// For how many parts run() is to be called where `left` are left. It may be more than `left`: the outputs beyond
  /// mean nothing.
  virtual std::size_t room(std::size_t left) const = 0;
  /// Parts (N, 3, side, side) with values from 0 to 255; N is what room() said.
  virtual void run(std::span<const float> parts) = 0;
  /// The output of that name of the last run().
  virtual PartValues output(const char* name) const = 0;
};

/// `count` networks for the threads of a CPU: kernels of our own, in float32, for any number of parts a call.
std::vector<std::unique_ptr<PartNetwork>> part_networks_in_windows(const network::NetworkWithState& network, int count);
/// `count` networks that an engine runs, for calls of the sizes in `batches`, the smallest first.
std::vector<std::unique_ptr<PartNetwork>> part_networks_in_batches(engine::Engine& engine,
                                                                   const network::NetworkWithState& network,
                                                                   engine::RunnerOptions runner,
                                                                   std::span<const std::int64_t> batches, int count);

}  // namespace evener::task
