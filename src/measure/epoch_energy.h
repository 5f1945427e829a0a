// Computes the energy of each epoch from the run's samples.
#pragma once

#include <filesystem>

#include "record/record.h"

namespace evener::measure {

/// Fills in the joules of this session's epochs, by interpolating the energy column linearly at the times at which
/// epochs began and ended. `samples_at_s`: the session's start on the time axis of samples.csv. Epochs outside of the
/// samples get no joules.
void fill_epoch_energy(record::Record& record, const std::filesystem::path& samples, double samples_at_s);

}  // namespace evener::measure
