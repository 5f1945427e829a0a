// How a run's network is divided over the stages of its plan. Inside task/ only.
#pragma once

#include <string>
#include <vector>

#include "network/passes/cut.h"
#include "parallel/replica.h"
#include "task/inference/stage_costs.h"
#include "task/training/train.h"

namespace evener::task {

/// Throws UsageError for what the stages of `options.plan` can't do, or can't do yet.
void require_possible_stages(const TrainOptions& options, const TrainSetup& setup);

/// The stages that --cut names, or those of which the slowest is as fast as can be; where --memory limits them, of cuts
/// that fit.
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
