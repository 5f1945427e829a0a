// A trained network whose layers are divided over the stages of a placement ('..'). Inside task/ only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "network/passes/cut.h"
#include "parallel/stage_line.h"
#include "task/inference/infer.h"

namespace evener::task {

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

}  // namespace evener::task
