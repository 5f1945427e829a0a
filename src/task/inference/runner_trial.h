// How fast runners compute, tried for a moment. Inside task/ only.
#pragma once

#include <memory>
#include <vector>

#include "engine/runner.h"
#include "task/inference/infer.h"

namespace evener::task {

using Runners = std::vector<std::unique_ptr<engine::Runner>>;

/// Calls per second of runners that are driven side by side, a thread each, with the same batch: one value for each of
/// so many blocks of calls, which take about `seconds` together. Fewer after a stop request.
std::vector<double> call_rates(const Runners& runners, const SampleValues& batch, double seconds, int blocks);

/// The same of runners that hand calls to a common line of stages, which one block of calls would fill and drain:
/// between the ends of calls that follow each other without a pause.
std::vector<double> steady_call_rates(const Runners& runners, const SampleValues& batch, double seconds, int blocks);

/// Calls per second between the ends of calls, in seconds since the first began: one value for each of so many blocks
/// of them, where they are enough. What passes before the first end is in no block, for a line of stages is filled in
/// it; from a single call it is the rate. A block has `together` calls at least, for as many may end at once.
std::vector<double> rates_between(const std::vector<double>& ends_s, std::size_t together, int blocks);

/// How many times as fast `others` are as `usual`: the median of blocks by turns, of about `seconds` in all, after a
/// first call of each runner, which takes memory. 0 after a stop request.
double speed_against(const Runners& usual, const Runners& others, const SampleValues& batch, double seconds);

}  // namespace evener::task
