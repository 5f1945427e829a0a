// What is refused before the work starts: batches that can't fit into memory or that batch-norm can't take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "engine/engine.h"
#include "network/network.h"

namespace evener::task {

/// Throws Error naming the largest batch that fits when training with `batch` would need more than the memory that is
/// available. An estimate (network/cost.h), so it refuses only what is clearly too large.
void require_memory(const network::Network& network, std::int64_t batch, engine::Precision precision);

/// Throws Error when `out` can't be written to or has no room for the checkpoints of a run: last, best, the optimiser's
/// state, and a second copy of the largest while it is replaced.
void require_disk_space(const std::filesystem::path& out, const network::Network& network, bool momentum);

/// Throws UsageError when some batch of an epoch would have one value per channel in a batch-norm layer, whose variance
/// is then undefined: a batch of one image where the layer sees one pixel.
void require_trainable_batch(const network::Network& network, std::size_t train_images, std::int64_t batch);

}  // namespace evener::task
