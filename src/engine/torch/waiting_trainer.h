// Prevents a deadlock between trainers on one GPU whose backward passes wait for each other.
#pragma once

#include "engine/engine.h"

namespace evener::engine::torch_engine {

/// Registers a trainer whose backward passes wait for other replicas, as those with synchronised batch-norm do.
/// LibTorch does all backward passes of a GPU in one thread of the process: a pass that waits there for another replica
/// on the same GPU would wait for ever, since that replica's pass needs the same thread.
class WaitingTrainer {
 public:
  /// Throws Error where this process has such a trainer for `device` already.
  explicit WaitingTrainer(Device device);
  ~WaitingTrainer();
  WaitingTrainer(const WaitingTrainer&) = delete;
  WaitingTrainer& operator=(const WaitingTrainer&) = delete;

 private:
  Device device_;
};

}  // namespace evener::engine::torch_engine
