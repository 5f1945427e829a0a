// How a run's batches are divided among its replicas at the start.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel/replica.h"
#include "parallel/shares.h"
#include "placement/plan.h"

namespace evener::parallel {

/// Weights for shares that stay, from speeds that were measured once: equal ones where the speeds differ by less than a
/// tenth, as those of devices of one kind do.
std::vector<double> steady_weights(std::vector<double> speeds);

/// The shares that `plan` gives to its replicas. Where it leaves one open, all replicas train for a moment, exchange
/// the speeds that they reached, and begin with shares in proportion to these, which they keep where their devices
/// exchange gradients themselves. No replica gets fewer than `least`
/// samples of a batch, except none at all. Every rank calls it with its own replica.
Shares first_shares(const placement::Plan& plan, Replica& replica, std::int64_t least);

}  // namespace evener::parallel
