// Puts the sampler's summary, and the energy of each epoch, into a run's record.
#pragma once

#include <filesystem>

#include "measure/process_sampler.h"
#include "record/record.h"

namespace evener::measure {

/// Fills `record`'s memory, cpu, gpus, energy and missing from `summary`.
void take_samples(record::Record& record, const SamplerSummary& summary);
/// For a record that is written before the run's end: fills `missing` with the reason why these figures are absent.
void leave_samples_out(record::Record& record);

/// When a session worked on images, in seconds since its beginning; absent = it did not say.
struct WorkTime {
  std::optional<double> from_s = {}, to_s = {};
};

/// Fills in the energy of that time, as fill_epoch_energy() does; a training's is that of the session's epochs, and of
/// what an interrupted one began. Absent, with the reason, where it is shorter than `least_s`.
void fill_work_energy(record::Record& record, const std::filesystem::path& samples, double samples_at_s, WorkTime work,
                      double least_s);

/// Fills in the joules of this session's epochs, by interpolating the energy column linearly at the times at which
/// epochs began and ended. `samples_at_s`: the session's start on the time axis of samples.csv. Epochs outside of the
/// samples get no joules.
void fill_epoch_energy(record::Record& record, const std::filesystem::path& samples, double samples_at_s);

}  // namespace evener::measure
