// What replicas on one host keep once for all of them: the trained parameters' values and what the optimiser keeps for
// each value, beside one array of gradients per replica. All arrays are laid out alike. After a step each replica
// updates its part of the values and slots, whose gradients it sums; nothing is copied back.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "engine/engine.h"

namespace evener::engine::torch_engine {

/// Memory for it; 0 where a step needs all gradients at once, or more than these arrays hold.
std::size_t shared_bytes(const network::Network& network, const TrainerOptions& options, int replicas);

class SharedParameters {
 public:
  /// `like`: tensors with the sizes and strides of the trained parameters. `slots`: arrays of the optimiser.
  SharedParameters(const SharedArrays& memory, const std::vector<at::Tensor>& like, std::size_t slots);

  /// Whether another replica looks after the values and slots.
  bool follows() const { return memory_.replica != 0; }
  std::vector<at::Tensor> values() const { return views(0); }
  std::vector<at::Tensor> slot(std::size_t index) const { return views(1 + index); }
  /// This replica's.
  std::vector<at::Tensor> gradients() const {
    return views(first_gradients_ + static_cast<std::size_t>(memory_.replica));
  }

  /// Values of one parameter that follow each other, and the sums of the members' gradients there.
  struct Piece {
    at::Tensor values, gradients;
    std::vector<at::Tensor> slots;
  };
  /// Visits all pieces of this replica's part, which is one of as many as there are `members` (ascending ranks), on all
  /// threads at once.
  void for_each_piece(std::span<const int> members, const std::function<void(const Piece&)>& visit) const;

 private:
  /// Values of an array.
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
