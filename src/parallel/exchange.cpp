#include "parallel/exchange.h"

#include <span>

#include "base/phase.h"

namespace evener::parallel {

Exchange::Exchange(engine::ExchangesGradients& gradients, comm::Communicator& communicator,
                   const std::vector<std::size_t>& sizes, comm::CommunicationDtype communication_dtype)
    : gradients_(gradients), communicator_(communicator), dtype_(communication_dtype), progress_(sizes) {}

void Exchange::begin() {
  progress_.begin();
  pending_.clear();
}

void Exchange::ready(std::size_t parameter) {
  progress_.ready(parameter);
  if (progress_.buckets().size() == 1) return;
  while (const engine::Bucket* bucket = progress_.take_complete()) launch(*bucket);
}

std::vector<std::span<float>> Exchange::gradients_of(const engine::Bucket& bucket) const {
  std::vector<std::span<float>> parts;
  for (std::size_t i = bucket.first; i <= bucket.last; ++i) parts.push_back(gradients_.gradient(i));
  return parts;
}

void Exchange::launch(const engine::Bucket& bucket) {
  pending_.push_back(thread_.run([this, parts = gradients_of(bucket)] {
    const PhaseMark mark(Phase::kExchange);
    communicator_.all_reduce(parts, dtype_);
  }));
}

void Exchange::finish() {
  const PhaseMark mark(Phase::kExchange);
  if (progress_.buckets().size() == 1) {
    communicator_.all_reduce(gradients_of(progress_.buckets().front()), dtype_);
  } else {
    while (const engine::Bucket* bucket = progress_.take_next()) launch(*bucket);
  }
  for (auto& pending : pending_) pending.wait();
  pending_.clear();
}

}  // namespace evener::parallel
