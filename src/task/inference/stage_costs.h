// How long the layers of a network take on the stages of a plan, and where it is best cut; of training and inference.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "network/network.h"
#include "network/passes/cut.h"
#include "placement/plan.h"

namespace evener::task {

/// That one core moves where they are in no cache. A guess.
constexpr double kCopied_bytes_per_s = 4e9;
/// Threads of a CPU that compute as much as a GPU, or move as many bytes of its own memory. A guess, likewise.
constexpr double kThreadsOfAccelerator = 100;

/// What each layer takes on a stage of `plan`, and what crosses a cut: estimated from operations and the memory that is
/// read and written.
network::StageCosts estimated_costs(const network::Network& network, const placement::Plan& plan);
/// The same from times that were measured in a call or a training step of so many images: of each layer on the device
/// of each stage, at its full speed.
network::StageCosts measured_costs(std::vector<std::vector<double>> layer_seconds, const placement::Plan& plan,
                                   std::int64_t images);
/// What one number of each sample's value takes that crosses a cut, in calls of so many images.
double crossing_seconds(std::int64_t images);

/// The stages of `plan` that --cut names, or those of which the slowest is as fast as can be.
std::vector<network::NetworkStage> divided_layers(const placement::Plan& plan, const std::vector<std::string>& cut,
                                                  const network::Network& network, const network::StageCosts& costs);
/// In words, the fewest stages, `first` at least, into which the replicas of `plan` can be divided so that the largest
/// takes no more than `limit_bytes`; "" where none does. `largest_bytes`: what it takes under a plan, where that throws
/// no UsageError.
std::string stages_that_fit(placement::Plan plan, int first, std::int64_t limit_bytes,
                            const std::function<std::int64_t(const placement::Plan&)>& largest_bytes);

}  // namespace evener::task
