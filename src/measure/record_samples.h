// What the sampler saw of a run, as its record tells it.
#pragma once

#include "measure/process_sampler.h"
#include "record/record.h"

namespace evener::measure {

/// Takes what the sampler saw into memory, cpu, energy and missing.
void take_samples(record::Record& record, const SamplerSummary& summary);
/// Says why a record that is written before the run's end has nothing of that.
void leave_samples_out(record::Record& record);

}  // namespace evener::measure
