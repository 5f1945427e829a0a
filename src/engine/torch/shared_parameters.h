// Arrays in memory that the replicas of one host share: one of the trained parameters' values, one for each of the
// optimiser's slots, and one of gradients per replica. All have the same layout. In a step each replica sums the
// gradients of its part of the parameters and updates the values and slots there; nothing has to be copied back.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "engine/engine.h"

namespace evener::engine::torch_engine {

/// Bytes of the shared memory; 0 where sharing isn't possible, since the optimiser needs all gradients at once or
/// values that these arrays lack.
std::size_t shared_bytes(const network::Network& network, const TrainerOptions& options, int replicas);

class SharedParameters {
 public:
  /// `like`: tensors with the sizes and strides of the trained parameters. `slots`: arrays of the optimiser.
  SharedParameters(const SharedArrays& memory, const std::vector<at::Tensor>& like, std::size_t slots);

  /// Whether another replica, number 0, loads the values and slots.
  bool follows() const { return memory_.replica != 0; }
  std::vector<at::Tensor> values() const { return views(0); }
  std::vector<at::Tensor> slot(std::size_t index) const { return views(1 + index); }
  /// The array of this replica's gradients, as tensors.
  std::vector<at::Tensor> gradients() const {
    return views(first_gradients_ + static_cast<std::size_t>(memory_.replica));
  }

  /// Consecutive values of one parameter, with their slots and the sums of the members' gradients.
  struct Piece {
    at::Tensor values, gradients;
    std::vector<at::Tensor> slots;
  };
  /// Calls `visit` for all pieces of this replica's part, on all threads at once. The values are divided into as many
  /// parts as there are `members` (ascending ranks).
  void for_each_piece(std::span<const int> members, const std::function<void(const Piece&)>& visit) const;

 private:
  /// A range of values in an array.
  struct Range {
    std::int64_t begin, count;
  };
  float* array(std::size_t index) const;
  std::vector<at::Tensor> views(std::size_t index) const;
  at::Tensor view(std::size_t index, const Range& range) const;
  std::vector<Range> pieces(std::int64_t begin, std::int64_t end) const;
  at::Tensor sum(std::span<const int> members, const Range& range, const at::Tensor& room) const;

  const SharedArrays memory_;
  const std::vector<at::Tensor> like_;
  std::vector<std::int64_t> offsets_;  // of each parameter in an array
  std::int64_t size_ = 0;              // values of an array
  const std::size_t first_gradients_;  // the array of replica 0
};

}  // namespace evener::engine::torch_engine
