// From what a training gave back to its record.
#pragma once

#include "job/train/training.h"
#include "record/record.h"

namespace evener::job {

/// Fills in what is known before the first step: options, engine, placement, model, data.
void fill_setup(record::Record& record, const TrainFlags& flags, const task::TrainOptions& options,
                const task::TrainSetup& setup);

/// `phases_s`: of this epoch alone.
record::EpochRecord epoch_record(const task::EpochResult& epoch, std::size_t train_images,
                                 std::map<std::string, double> phases_s);

/// Fills in what came out. A run that only evaluated says why it is not judged.
void fill_results(record::Record& record, const task::TrainResult& result);

}  // namespace evener::job
