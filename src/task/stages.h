// How a run's network is divided over the stages of its plan. Inside task/ only.
#pragma once

#include <string>
#include <vector>

#include "network/passes/cut.h"
#include "parallel/replica.h"
#include "task/train.h"

namespace evener::task {

/// That one core moves where they are in no cache. A guess.
constexpr double kCopied_bytes_per_s = 4e9;
/// Threads of a CPU that compute as much as a GPU, or move as many bytes of its own memory. A guess, likewise.
constexpr double kThreadsOfAccelerator = 100;

/// Throws UsageError for what the stages of `options.plan` can't do, or can't do yet.
void require_possible_stages(const TrainOptions& options, const TrainSetup& setup);

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
/// Of a training: where --memory limits its stages, of cuts that fit.
std::vector<network::NetworkStage> divided_layers(const TrainOptions& options, const network::Network& network,
                                                  network::StageCosts costs);

/// Micro-batches that a replica's share of a batch passes its stages in: as many as were asked for; one where
/// batch-norm takes the statistics of the whole batch; else a few for each stage.
int micro_batch_count(const TrainOptions& options, const network::Network& network);

/// Images of one of them, but two at least, which every batch-norm can take.
std::int64_t images_of_micro_batch(const TrainOptions& options, int micro_batches);

/// Images of a replica's share of a batch that pass at once where it is divided into so many parts, at most.
std::int64_t images_at_once(const TrainOptions& options, int parts);

/// What users and the record are told of the division.
std::vector<std::string> stage_notes(const TrainOptions& options, const TrainSetup& setup);

/// Fills in what the rank that computes `stage` of a replica of `plan` has to know.
void fill_stage(const TrainOptions& options, const placement::Plan& plan, const network::Network& network,
                const Division& division, int stage, parallel::ReplicaOptions& replica);

}  // namespace evener::task
