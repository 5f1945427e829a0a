// The energy of each epoch, from the samples of the run.
#pragma once

#include <filesystem>

#include "record/record.h"

namespace evener::measure {

/// Fills the joules of the epochs of this session, which say when they began and ended. `samples_at_s`: the time in
/// samples.csv of the session's start. Between two samples the power is taken as even. Epochs that the samples don't
/// hold stay without.
void fill_epoch_energy(record::Record& record, const std::filesystem::path& samples, double samples_at_s);

}  // namespace evener::measure
