// Puts the sampler's summary into a run's record.
#pragma once

#include "measure/process_sampler.h"
#include "record/record.h"

namespace evener::measure {

/// Fills `record`'s memory, cpu, gpus, energy and missing from `summary`.
void take_samples(record::Record& record, const SamplerSummary& summary);
/// For a record that is written before the run's end: fills `missing` with the reason why these figures are absent.
void leave_samples_out(record::Record& record);

}  // namespace evener::measure
