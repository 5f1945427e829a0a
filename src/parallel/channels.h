// The channels that join the replicas of a group.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "comm/communicator.h"

namespace evener::parallel {

/// What joins a stage of a replica with the stage before and the one after; null where there is none.
struct StageChannels {
  std::unique_ptr<comm::Communicator> values_in, values_out, gradients_in, gradients_out;
};

/// The channels of a group; each is used by one thread of a replica at a time.
struct Channels {
  std::unique_ptr<comm::Communicator> control;  // commands of rank 0; always all ranks
  // Batch-norm statistics, losses; and gradients: of those that train, and of each stage with the same one of the other
  // replicas.
  std::unique_ptr<comm::Communicator> sums, gradients;
  std::span<std::byte> memory = {};  // that all replicas see; empty: none
  StageChannels links = {};
};

/// A group of one.
Channels make_self_channels();

}  // namespace evener::parallel
