// How a run's network is divided over the stages of its plan. Inside task/ only.
#pragma once

#include <string>
#include <vector>

#include "network/passes/cut.h"
#include "parallel/replica.h"
#include "task/inference/stage_costs.h"
#include "task/training/train.h"

namespace evener::task {

/// Throws UsageError for options that a plan with several stages doesn't support.
void require_possible_stages(const TrainOptions& options, const TrainSetup& setup);

/// The stages that --cut names; otherwise the division whose slowest stage is the fastest, among those that fit where
/// --memory limits a stage.
std::vector<network::NetworkStage> divided_layers(const TrainOptions& options, const network::Network& network,
                                                  network::StageCosts costs);

/// The number of micro-batches into which a replica's share of a batch is divided: as many as were asked for; one where
/// batch-norm takes the statistics of the whole batch; else a few for each stage.
int micro_batch_count(const TrainOptions& options, const network::Network& network);

/// The images of one micro-batch, but at least two, which every batch-norm can take.
std::int64_t images_of_micro_batch(const TrainOptions& options, int micro_batches);

/// The most images that a replica computes at once where its share of a batch is divided into `parts`.
std::int64_t images_at_once(const TrainOptions& options, int parts);

/// Sentences on the division, for users and the record.
std::vector<std::string> stage_notes(const TrainOptions& options, const TrainSetup& setup);

/// Fills in the options of the rank that computes `stage` of a replica of `plan`.
void fill_stage(const TrainOptions& options, const placement::Plan& plan, const network::Network& network,
                const Division& division, int stage, parallel::ReplicaOptions& replica);

}  // namespace evener::task
