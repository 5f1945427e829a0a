// The largest batch that a device has memory for, found by trying.
#pragma once

#include <cstdint>
#include <functional>

#include "base/tensor.h"
#include "engine/engine.h"
#include "network/network.h"

namespace evener::task {

/// The largest number from 1 to `most` for which `fits` is true; `fits` has to be true for all smaller numbers, too.
/// Found by doubling and then by bisection, to within a 32nd of the result. 0 where not even 1 fits.
std::int64_t largest_that_fits(std::int64_t most, const std::function<bool(std::int64_t)>& fits);

/// Whether a new trainer has memory to train and evaluate with batches of `images` images, and then to train with the
/// shorter last batch of an epoch of `all` images: its buffers come on top of those kept for whole batches. Nothing is
/// learnt: the learning rate is 0.
bool can_train(engine::Engine& engine, const network::Network& network, const engine::TrainerOptions& options,
               const TensorMap& state, std::int64_t images, std::int64_t all);

}  // namespace evener::task
