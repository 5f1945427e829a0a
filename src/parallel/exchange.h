// Sums gradients over the replicas in buckets, while the backward pass still computes those of earlier layers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/communication_thread.h"
#include "comm/communicator.h"
#include "engine/capabilities.h"
#include "engine/gradient_buckets.h"

namespace evener::parallel {

/// The exchange of one replica's gradients. begin() before the backward pass, ready() for each gradient as it becomes
/// ready, on the same thread, finish() after it, when those that nobody told of are ready too: then every replica has
/// the sums.
class Exchange {
 public:
  /// `sizes`: values of each trained parameter. What fits into the first bucket is exchanged on the calling thread: a
  /// small network's step is shorter than waking another thread. All must outlive this.
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
