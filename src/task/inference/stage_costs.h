// How long the layers of a network take on the stages of a plan, and where to cut the network, in training and
// inference.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "network/network.h"
#include "network/passes/cut.h"
#include "placement/plan.h"

namespace evener::task {

/// Bytes per second that one core copies beyond the caches. A guess.
constexpr double kCopied_bytes_per_s = 4e9;
/// How many CPU threads a GPU is worth, in computing and in memory bandwidth. A guess, too.
constexpr double kThreadsOfAccelerator = 100;

/// The time of each layer on a stage of `plan`, and of the values that cross a cut, estimated from operations and
/// memory traffic.
network::StageCosts estimated_costs(const network::Network& network, const placement::Plan& plan);
/// The same from measured times. `layer_seconds`: [stage][layer], of a call or training step of `images` images, on the
/// stage's device at its full speed.
network::StageCosts measured_costs(std::vector<std::vector<double>> layer_seconds, const placement::Plan& plan,
                                   std::int64_t images);
/// Seconds that it takes to move one number per image across a cut, for `images` images.
double crossing_seconds(std::int64_t images);

/// The stages that --cut names, or else the division whose slowest stage is the fastest.
std::vector<network::NetworkStage> divided_layers(const placement::Plan& plan, const std::vector<std::string>& cut,
                                                  const network::Network& network, const network::StageCosts& costs);
/// A sentence with the fewest stages, at least `first`, into which the replicas of `plan` can be divided so that no
/// stage takes more than `limit_bytes`; "" where there is no such division. `largest_bytes`: returns the memory of a
/// plan's largest stage; a UsageError from it means that the plan is impossible.
std::string stages_that_fit(placement::Plan plan, int first, std::int64_t limit_bytes,
                            const std::function<std::int64_t(const placement::Plan&)>& largest_bytes);

}  // namespace evener::task
