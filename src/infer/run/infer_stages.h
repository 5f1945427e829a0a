// How long the layers of a network take on the stages of a placement ('..'), and where to cut the network, in training
// and inference; and a trained network whose layers are divided over them. Inside task/ only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "infer/run/infer.h"
#include "network/network.h"
#include "network/passes/cut.h"
#include "parallel/stage_line.h"
#include "placement/plan.h"

namespace evener::inference {

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

/// Throws UsageError for a network that can't be divided.
void require_possible_stages(const InferenceModel& model, const InferOptions& options);

/// The number of calls that a stage computes side by side; on a CPU, `streams`.
int calls_side_by_side(const placement::PlanStage& stage, int streams);
/// The number of calls that are under way in all stages of a replica: those that its stages compute, and as many again
/// that wait, so that no stage idles.
int calls_under_way(const placement::PlanReplica& replica, int streams);

/// Where the layers are cut: as InferOptions::cut says, or so that stages take equally long by the times of the layers
/// on each stage's device, or by their operations where one has too little memory for the whole network. Throws
/// UsageError where a stage (or the network that is not divided) takes more memory than there is, naming how many
/// stages would fit. Not divided: no stages.
std::vector<network::NetworkStage> divided_for_inference(const InferenceModel& model, const InferOptions& options,
                                                         const InferSetup& setup, const data::Samples& samples);

/// The part of the network that each stage computes.
std::vector<StageSetup> stage_setups(const InferenceModel& model, const std::vector<network::NetworkStage>& stages,
                                     const InferOptions& options, const InferSetup& setup);

/// The pipeline of a replica's stages, ready for calls. `common`: options for the runners of all stages.
std::shared_ptr<parallel::StageLine> make_line(const InferenceModel& model, engine::Engine& engine,
                                               const std::vector<network::NetworkStage>& stages,
                                               const placement::PlanReplica& replica,
                                               const engine::RunnerOptions& common, int streams);

}  // namespace evener::inference
