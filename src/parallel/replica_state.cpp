// How a replica's weights become those of the others: rank 0's go to all.
#include "base/phase.h"
#include "parallel/replica.h"

namespace evener::parallel {
namespace {

/// Every tensor of rank 0's map into the same one of every rank.
void broadcast(comm::Communicator& communicator, TensorMap& tensors) {
  for (auto& [name, tensor] : tensors) communicator.broadcast(tensor.bytes, 0);
}

}  // namespace

/// Replicas on unlike devices round differently: sharing the state now and then keeps them from drifting apart.
void Replica::share_state(bool with_optimizer) {
  if (ranks() == 1) return;
  const PhaseMark mark(Phase::kExchange);
  if (all_shared_ && !with_optimizer) return channels_.control->barrier();
  TensorMap state = trainer_->state();
  if (options_.local_batch_norm) average_statistics(state);
  broadcast(*channels_.control, state);
  if (rank() != 0 || options_.local_batch_norm) trainer_->load_state(state);
  if (!with_optimizer) return;
  TensorMap optimizer = trainer_->optimizer_state();
  broadcast(*channels_.control, optimizer);
  if (rank() != 0 && !optimizer.empty()) trainer_->load_optimizer_state(optimizer);
}

/// Running statistics of the samples that each replica saw, weighted by how many these were.
void Replica::average_statistics(TensorMap& state) {
  std::vector<double> sums = {static_cast<double>(trained_)};
  for (const auto& name : statistics_) {
    const HostTensor& tensor = state.at(name);
    const std::int64_t count = element_count(tensor.shape);
    for (std::int64_t i = 0; i < count; ++i) sums.push_back(static_cast<double>(trained_) * tensor.floats()[i]);
  }
  channels_.control->all_reduce(sums);
  trained_ = 0;
  if (sums.front() == 0) return;  // nobody trained since the last time
  std::size_t at = 1;
  for (const auto& name : statistics_) {
    HostTensor& tensor = state.at(name);
    const std::int64_t count = element_count(tensor.shape);
    for (std::int64_t i = 0; i < count; ++i) tensor.floats()[i] = static_cast<float>(sums[at++] / sums.front());
  }
}

}  // namespace evener::parallel
