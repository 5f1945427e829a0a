// From what a training gave back to its record.
#pragma once

#include "job/train/training.h"
#include "record/record.h"

namespace evener::job {

/// Fills in what is known before the first step: options, engine, placement, model, data.
void fill_setup(record::Record& record, const TrainFlags& flags, const task::TrainOptions& options,
                const task::TrainSetup& setup);

/// Fills in what came out. A run that only evaluated says why it is not judged.
void fill_results(record::Record& record, const task::TrainResult& result);

}  // namespace evener::job
