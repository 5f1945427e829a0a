// Measures for a moment how fast runners compute. Inside task/ only.
#pragma once

#include <memory>
#include <vector>

#include "engine/runner.h"
#include "task/inference/infer.h"

namespace evener::task {

using Runners = std::vector<std::unique_ptr<engine::Runner>>;

/// Calls per second of `runners` together, each called without a pause by a thread of its own with `batch`, for about
/// `seconds`: as rates_between() has them. No runner waits for another, as none does when they answer samples.
std::vector<double> call_rates(const Runners& runners, const SampleValues& batch, double seconds, int blocks);

/// Calls per second from the times at which the calls of each runner ended, in seconds since the first began: one value
/// for each of at most `blocks` stretches of equal length, in each of which every runner ends a call or more. Of a call
/// that ends in the next stretch the part that lies in this one counts. The time until each runner has ended a call, in
/// which a pipeline fills, counts only where a runner ended no second one.
std::vector<double> rates_between(const std::vector<std::vector<double>>& ends_s, int blocks);

}  // namespace evener::task
