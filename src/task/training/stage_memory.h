// An estimate of the device memory that each stage of a training takes, and whether it is available.
#pragma once

#include <cstdint>
#include <vector>

#include "task/training/train.h"

namespace evener::task {

struct StageMemory {
  std::int64_t fixed_bytes = 0;        // weights, gradients, the optimiser's values, statistics
  std::int64_t computed_bytes = 0;     // gradients of values, and of the largest weight, in one pass
  std::int64_t reordered_bytes = 0;    // weights in another order too, on a CPU that computes micro-batches
  std::int64_t micro_batch_bytes = 0;  // activations of one micro-batch
  int kept = 1;                        // the most micro-batches that are forward and not yet backward at once

  std::int64_t bytes() const { return fixed_bytes + computed_bytes + reordered_bytes + kept * micro_batch_bytes; }
};

/// The memory of the layers `part` as stage number `stage` of `stages`, where a batch is divided into `micro_batches`.
StageMemory memory_of_stage(const TrainOptions& options, const network::Network& part, int stage, int stages,
                            int micro_batches);

/// The memory of each stage of a replica, as `division` divides `network`; a single one where it is not divided.
std::vector<StageMemory> stage_memory(const TrainOptions& options, const network::Network& network,
                                      const Division& division);

/// Throws UsageError where a stage takes more than --memory allows, naming how many stages would fit.
void require_stage_memory(const TrainOptions& options, const network::Network& network, const Division& division);

}  // namespace evener::task
