// From what a training gave back to its record.
#pragma once

#include "cli/training.h"
#include "measure/phase_recorder.h"
#include "measure/process_sampler.h"

namespace evener::cli {

/// What is known before the first step: command, machine, placement, model, data.
measure::Record record_of_setup(const TrainFlags& flags, const placement::Plan& plan, const task::TrainOptions& options,
                                const task::TrainSetup& setup);

/// `phases_s`: of this epoch alone.
measure::EpochRecord epoch_record(const task::EpochResult& epoch, std::size_t train_images,
                                  std::map<std::string, double> phases_s);

/// Where the replicas of a plan compute.
measure::PlacementRecord placement_record(const placement::Plan& plan);

/// Fills in results, times and phases.
void complete_record(measure::Record& record, const task::TrainResult& result, double total_s,
                     const measure::PhaseTotals& phases);

/// Fills in what the sampler saw, and judges the validity.
void finish_record(measure::Record& record, const measure::SamplerSummary& samples);

}  // namespace evener::cli
