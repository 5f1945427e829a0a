// Measures for a moment how fast runners compute. Inside task/ only.
#pragma once

#include <memory>
#include <vector>

#include "engine/runner.h"
#include "task/inference/infer.h"

namespace evener::task {

using Runners = std::vector<std::unique_ptr<engine::Runner>>;

/// Calls per second of `runners` together, each called by a thread of its own with `batch`: one value for each of
/// `blocks` blocks of calls, which take about `seconds` in all. Fewer values after a stop request.
std::vector<double> call_rates(const Runners& runners, const SampleValues& batch, double seconds, int blocks);

/// The same for runners that share a pipeline of stages. Separate blocks would each fill and drain the pipeline, so
/// here calls follow each other without a pause, and rates are taken between the ends of calls.
std::vector<double> steady_call_rates(const Runners& runners, const SampleValues& batch, double seconds, int blocks);

/// Calls per second from the times at which calls ended, in seconds since the first began: one value for each of
/// `blocks` blocks, or fewer where there are few calls. The time before the first end, in which a pipeline fills, is in
/// no block, unless there is only one call. A block has at least `together` calls, as that many may end at once.
std::vector<double> rates_between(const std::vector<double>& ends_s, std::size_t together, int blocks);

}  // namespace evener::task
