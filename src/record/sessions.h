// Merges the records of a run's sessions (--resume, --restarts) into one. Values that can't be added up are absent,
// with the reason.
#pragma once

#include "record/record.h"

namespace evener::record {

/// Adds the earlier sessions' epochs, times, phases, images and speed to `record`, the record of the session that
/// continued the run. The last entry of `record.sessions` must be its own.
void add_earlier_work(Record& record, const Record& earlier);

/// The same for the sampler's figures, CPU, memory and energy. Call it after take_samples().
void add_earlier_samples(Record& record, const Record& earlier);

/// The record so far of the run in `dir`, which is to be resumed. The caller holds its lock, so if the record says
/// "running", that session was killed. Without a readable record, returns one with a killed session and nothing else.
Record earlier_sessions(const std::filesystem::path& dir);

}  // namespace evener::record
