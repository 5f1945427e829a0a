// What each stage of a training takes of its device's memory, estimated, and whether that is there.
#pragma once

#include <cstdint>
#include <vector>

#include "task/training/train.h"

namespace evener::task {

struct StageMemory {
  std::int64_t fixed_bytes = 0;        // weights, gradients, the optimiser's values, statistics
  std::int64_t computed_bytes = 0;     // gradients of values, and of the largest weight, in one pass
  std::int64_t micro_batch_bytes = 0;  // activations of one micro-batch
  int kept = 1;                        // micro-batches that are forward and not yet backward, at most

  std::int64_t bytes() const { return fixed_bytes + computed_bytes + kept * micro_batch_bytes; }
};

/// Of the layers `part`, as one of so many stages that a batch passes in so many micro-batches.
StageMemory memory_of_stage(const TrainOptions& options, const network::Network& part, int stage, int stages,
                            int micro_batches);

/// Of each stage of a replica that `division` makes of `network`; one of a network that is not divided.
std::vector<StageMemory> stage_memory(const TrainOptions& options, const network::Network& network,
                                      const Division& division);

/// Throws UsageError where a stage takes more than --memory lets it, naming how many stages would fit.
void require_stage_memory(const TrainOptions& options, const network::Network& network, const Division& division);

}  // namespace evener::task
