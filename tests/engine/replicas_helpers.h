// Trainers on threads of their own that share a batch, as the replicas of a run do.
#pragma once

#include <barrier>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/batches_helpers.h"

namespace evener::test {

/// Adds up values over threads. A thread that leaves no longer counts, so that one failure doesn't hang the others.
class ThreadSums {
 public:
  explicit ThreadSums(std::size_t replicas)
      : slots_(replicas), sizes_(replicas), barrier_(static_cast<std::ptrdiff_t>(replicas)) {}

  /// Puts the sum over all replicas in place of `values`.
  void add(std::size_t replica, std::span<double> values);
  void leave(std::size_t replica);
  /// How many values each call of each replica had.
  const std::vector<std::vector<std::size_t>>& sizes() const { return sizes_; }

 private:
  std::vector<std::span<double>> slots_;
  std::vector<std::vector<std::size_t>> sizes_;
  std::barrier<> barrier_;
};

/// Runs body(replica, sum) on one thread for each replica. Their errors' texts, "" = none.
std::vector<std::string> on_threads(
    ThreadSums& sums, std::size_t replicas,
    const std::function<void(std::size_t, std::function<void(std::span<double>)>)>& body);

/// What replicas came to that took `parts` samples of a batch each.
struct SharedStep {
  TensorMap gradients;            // summed over the replicas
  std::vector<TensorMap> states;  // of each replica
  engine::Sums result;            // summed
  std::vector<std::vector<std::size_t>> sizes;
  std::vector<std::vector<std::size_t>> ready;  // gradients in the order in which they became ready
};
/// What they start from.
struct Start {
  network::Network network;
  engine::TrainerOptions options;
  TensorMap state;
};
SharedStep shared_step(const Start& start, const OwnedBatch& batch, const std::vector<std::int64_t>& parts);

/// The same batch on one trainer that has no others.
SharedStep lone_step(const Start& start, const OwnedBatch& batch);

/// Adds the gradients of `other` to `sum`.
void add_to(TensorMap& sum, const TensorMap& other);

}  // namespace evener::test
