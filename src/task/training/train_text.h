// Sentences on the progress of a training. Inside task/ only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "task/training/checkpoint.h"

namespace evener::task {

/// The fit of a new last layer as the record of a run's first epoch.
record::EpochRecord epoch_of(const LinearProbe& fit);

/// Writes the running means (loss, accuracy) of `sums` into `told`.
void tell_means(const engine::Sums& sums, StepProgress& told);

/// The sentence that says that a run ended because its `quality` (such as "accuracy") reached the target, after
/// `seconds`.
std::string accuracy_reached_text(const Progress& progress, const std::string& quality, double seconds);

/// The sentence that says that a run ended because its time (--minutes) was up.
std::string time_is_up_text(const Progress& progress);

/// "after epoch 2", or "in epoch 3 after step 7".
std::string place_text(const Progress& progress);

/// Where a run was interrupted, and the command that resumes it. `out`: its folder.
std::string interrupted_text(const Progress& progress, std::int64_t steps_per_epoch, const std::filesystem::path& out);

}  // namespace evener::task
