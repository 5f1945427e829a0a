// The channels that join the replicas of a group.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "comm/communicator.h"

namespace evener::parallel {

/// The channels of a group; each is used by one thread of a replica at a time.
struct Channels {
  std::unique_ptr<comm::Communicator> control;    // commands of rank 0; always all ranks
  std::unique_ptr<comm::Communicator> sums;       // batch-norm statistics, losses; those that train
  std::unique_ptr<comm::Communicator> gradients;  // those that train
  std::span<std::byte> memory = {};               // that all replicas see; empty: none
};

/// A group of one.
Channels make_self_channels();

}  // namespace evener::parallel
