// Writes a training into its record, and into the timeline of its stages.
#pragma once

#include <filesystem>
#include <span>

#include "job/train/training.h"
#include "parallel/pipeline.h"
#include "record/record.h"

namespace evener::job {

/// Fills in what is known before the first step: options, engine, placement, model, data.
void fill_setup(record::Record& record, const TrainFlags& flags, const task::TrainOptions& options,
                const task::TrainSetup& setup);

/// Fills in the results. A run that only evaluated notes why it isn't judged.
void fill_results(record::Record& record, const task::TrainResult& result);

/// Writes what each rank did in the last whole steps as Chrome's trace event format (chrome://tracing,
/// ui.perfetto.dev): a process for each replica, in it a row for each stage, on which gaps are the bubble. `work`: of
/// all ranks. The timeline of each of the `hosts` begins at 0, as their clocks aren't synchronised. Throws Error where
/// the file can't be written.
void write_stage_trace(const std::filesystem::path& path, std::span<const parallel::StageWork> work, int stages,
                       int hosts);

}  // namespace evener::job
