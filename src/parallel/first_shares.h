// How a run's batches are divided among its replicas at the start.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel/replica.h"
#include "parallel/shares.h"
#include "placement/plan.h"

namespace evener::parallel {

/// Weights for fixed shares, from speeds that were measured once. Speeds that differ by less than a tenth give equal
/// weights: devices of one kind differ by that much through noise alone.
std::vector<double> steady_weights(std::vector<double> speeds);

/// The shares that `plan` gives its replicas. If it leaves any share open, all replicas train for a moment, exchange
/// their speeds and begin with shares in proportion to them. Where devices exchange gradients themselves, these shares
/// stay fixed. A replica gets at least `least` samples of a batch, or none. A collective: every rank calls it with its
/// own replica.
Shares first_shares(const placement::Plan& plan, Replica& replica, std::int64_t least);

}  // namespace evener::parallel
