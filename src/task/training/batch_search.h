// The largest batch that a device has memory for, found by trying.
#pragma once

#include <cstdint>
#include <functional>

#include "base/tensor.h"
#include "engine/engine.h"
#include "network/network.h"

namespace evener::task {

/// The largest number in 1 ... most for which `fits` says so, which it does for all smaller ones too: by doubling, then
/// by halving what is left, down to a 32nd of the result. 0 where not even one fits.
std::int64_t largest_that_fits(std::int64_t most, const std::function<bool(std::int64_t)>& fits);

/// Whether a new trainer can train and evaluate with batches of so many images, and then train with what is left of
/// `all` images for the last batch of an epoch: that is computed beside what the whole batches keep memory for. Nothing
/// is learnt: the rate is 0.
bool can_train(engine::Engine& engine, const network::Network& network, const engine::TrainerOptions& options,
               const TensorMap& state, std::int64_t images, std::int64_t all);

}  // namespace evener::task
