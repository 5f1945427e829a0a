// Adds up gradients over the replicas in buckets, while the backward pass still computes gradients of earlier layers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/communication_thread.h"
#include "comm/communicator.h"
#include "engine/gradient_exchange.h"
#include "engine/trainer.h"

namespace evener::parallel {

/// One replica's side of the all-reduce of gradients. Call begin() before the backward pass, ready() on the same thread
/// for each gradient that is final, and finish() after the backward pass. finish() also exchanges gradients for which
/// ready() was never called; when it returns, every replica has the sums.
class Exchange {
 public:
  /// `sizes`: number of values of each trained parameter. A network that fits into the first bucket is exchanged on the
  /// calling thread, since its step is shorter than waking another thread would take. All arguments must outlive this.
  Exchange(engine::ExchangesGradients& gradients, comm::Communicator& communicator,
           const std::vector<std::size_t>& sizes, comm::CommunicationDtype communication_dtype);

  void begin();
  void ready(std::size_t parameter);
  void finish();

 private:
  std::vector<std::span<float>> gradients_of(const engine::Bucket& bucket) const;
  void launch(const engine::Bucket& bucket);

  engine::ExchangesGradients& gradients_;
  comm::Communicator& communicator_;
  const comm::CommunicationDtype dtype_;
  engine::BucketProgress progress_;
  std::vector<comm::Pending> pending_;
  comm::CommunicationThread thread_;  // last: its tasks use the rest
};

}  // namespace evener::parallel
