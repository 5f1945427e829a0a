// The exchange of states between replicas and stages: sharing, gathering and loading.
#include <string>
#include <tuple>
#include <utility>

#include "base/message.h"
#include "base/phase.h"
#include "comm/communicator.h"
#include "parallel/replica.h"

namespace evener::parallel {
namespace {

/// Broadcasts every tensor of rank `root`'s map into the same tensor of the other ranks.
void broadcast(comm::Communicator& communicator, TensorMap& tensors, int root) {
  for (auto& [name, tensor] : tensors) communicator.broadcast(tensor.bytes, root);
}

/// The description of tensors that precedes their bytes: name, type, shape.
using Heads = std::vector<std::tuple<std::string, DType, std::vector<std::int64_t>>>;

std::string heads_of(const TensorMap& tensors) {
  Heads heads;
  for (const auto& [name, tensor] : tensors) heads.emplace_back(name, tensor.dtype, tensor.shape);
  return pack_message(heads);
}

TensorMap tensors_with(const std::string& message) {
  TensorMap tensors;
  for (auto& [name, type, shape] : unpack_message<Heads>(message, "the names of a stage's tensors")) {
    const auto bytes = static_cast<std::size_t>(element_count(shape)) * size_bytes(type);
    tensors.emplace(name, HostTensor{type, shape, std::vector<std::byte>(bytes)});
  }
  return tensors;
}

}  // namespace

/// Replicas on unlike devices round differently: sharing the state now and then keeps them from drifting apart.
void Replica::share_state(bool with_optimizer) {
  if (replicas() == 1) return;
  const PhaseMark mark(Phase::kExchange);
  if (all_shared_ && !with_optimizer) return channels_.control->barrier();
  TensorMap state = trainer_->state();
  if (options_.local_batch_norm) average_statistics(state);
  broadcast(peers(), state, first_peer());
  if (replica() != 0 || options_.local_batch_norm) trainer_->load_state(state);
  if (!with_optimizer) return;
  TensorMap optimizer = trainer_->optimizer_state();
  broadcast(peers(), optimizer, first_peer());
  if (replica() != 0 && !optimizer.empty()) trainer_->load_optimizer_state(optimizer);
}

/// Averages running statistics over replicas, weighted with the number of samples that each has seen.
void Replica::average_statistics(TensorMap& state) {
  std::vector<double> sums = {static_cast<double>(trained_)};
  for (const auto& name : statistics_) {
    const HostTensor& tensor = state.at(name);
    const std::int64_t count = element_count(tensor.shape);
    for (std::int64_t i = 0; i < count; ++i) sums.push_back(static_cast<double>(trained_) * tensor.floats()[i]);
  }
  peers().all_reduce(sums);
  trained_ = 0;
  if (sums.front() == 0) return;  // no replica has trained since the last call
  std::size_t at = 1;
  for (const auto& name : statistics_) {
    HostTensor& tensor = state.at(name);
    const std::int64_t count = element_count(tensor.shape);
    for (std::int64_t i = 0; i < count; ++i) tensor.floats()[i] = static_cast<float>(sums[at++] / sums.front());
  }
}

/// Gathers on rank 0 the state of the whole network, or of its optimiser, from the stages of the first replica.
void Replica::gather_state(bool of_optimizer) {
  const PhaseMark mark(Phase::kExchange);
  TensorMap own;
  if (replica() == 0) own = of_optimizer ? trainer_->optimizer_state() : trainer_->state();
  const std::vector<std::string> heads = comm::gather_messages(*channels_.control, heads_of(own));
  if (rank() > 0 && replica() == 0) {
    for (const auto& [name, tensor] : own) channels_.control->send(tensor.bytes, 0);
  }
  if (rank() != 0) return;
  gathered_ = std::move(own);
  for (int stage = 1; stage < stages(); ++stage) {
    TensorMap tensors = tensors_with(heads[static_cast<std::size_t>(stage)]);
    for (auto& [name, tensor] : tensors) channels_.control->receive(tensor.bytes, stage);
    gathered_.merge(tensors);
  }
}

/// Every rank loads its stage's part of the state that rank 0 was given.
void Replica::load_given() {
  const PhaseMark mark(Phase::kExchange);
  const std::string own = rank() == 0 ? heads_of(*given_) : std::string();
  TensorMap state = tensors_with(comm::gather_messages(*channels_.control, own).front());
  if (rank() == 0) state = *given_;
  broadcast(*channels_.control, state, 0);
  trainer_->load_state(state);
}

}  // namespace evener::parallel
