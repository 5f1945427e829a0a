// What a training tells of where it stands. Inside task/ only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "task/training/checkpoint.h"

namespace evener::task {

/// What the fit of a last layer is among the epochs of a run: the first one.
record::EpochRecord epoch_of(const LinearProbe& fit);

/// Puts the means of what was summed up into `told`.
void tell_means(const engine::Sums& sums, StepProgress& told);

/// That a run ended since its `quality` ("accuracy") reached what was asked for, in so many seconds.
std::string accuracy_reached_text(const Progress& progress, const std::string& quality, double seconds);

/// That a run ended since the time that it was given was over.
std::string time_is_up_text(const Progress& progress);

/// "after epoch 2", or "in epoch 3 after step 7".
std::string place_text(const Progress& progress);

/// Where a run was interrupted, and what goes on with it. `out`: its folder.
std::string interrupted_text(const Progress& progress, std::int64_t steps_per_epoch, const std::filesystem::path& out);

}  // namespace evener::task
