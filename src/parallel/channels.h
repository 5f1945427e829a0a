// The channels that join the replicas of a group.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "comm/communicator.h"

namespace evener::parallel {

/// Links of a pipeline stage to the stages before and after it; null where there is no such neighbour.
struct StageChannels {
  std::unique_ptr<comm::Communicator> values_in, values_out, gradients_in, gradients_out;
};

/// The communicators of one rank. Only one thread of a rank may use a channel at a time.
struct Channels {
  std::unique_ptr<comm::Communicator> control;  // commands of rank 0; always all ranks
  // `sums` carries batch-norm statistics and losses, `gradients` gradients. Only replicas that currently train are
  // members; in a pipeline, each stage shares these channels with the same stage of the other replicas.
  std::unique_ptr<comm::Communicator> sums, gradients;
  std::span<std::byte> memory = {};  // shared by all replicas; empty: none, as always on several hosts
  StageChannels links = {};
};

/// Channels of a run with a single rank: every collective returns at once.
Channels make_self_channels();

}  // namespace evener::parallel
