// Trainers of GPUs whose backward passes wait for other replicas.
#pragma once

#include "engine/engine.h"

namespace evener::engine::torch_engine {

/// LibTorch does the backward passes of a GPU in one thread of the process. One that waits there for another replica,
/// as that of synchronised batch-norm does, would wait for ever where the other's is to be done by the same thread.
class WaitingTrainer {
 public:
  /// Throws Error where there is one for `device` in this process.
  explicit WaitingTrainer(Device device);
  ~WaitingTrainer();
  WaitingTrainer(const WaitingTrainer&) = delete;
  WaitingTrainer& operator=(const WaitingTrainer&) = delete;

 private:
  Device device_;
};

}  // namespace evener::engine::torch_engine
