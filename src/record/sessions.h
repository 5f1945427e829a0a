// A run that several sessions worked on, one after the other (--resume, --restarts): what they have in common adds up
// to one record. What can't be added is absent, with the reason.
#pragma once

#include "record/record.h"

namespace evener::record {

/// Puts what the sessions before have done into the record of the one that went on with it, in front of that one's
/// own: epochs, times, phases, images and speed. `record.sessions` ends with the session's own entry.
void add_earlier_work(Record& record, const Record& earlier);

/// The same for what the sampler saw: CPU, memory and energy, after take_samples().
void add_earlier_samples(Record& record, const Record& earlier);

/// The record of the sessions so far of the run in `dir`, which is to be gone on with: nobody writes to it now, so that
/// one that says it is running was killed. Where there is no readable record, one of a killed session of which nothing
/// is known.
Record earlier_sessions(const std::filesystem::path& dir);

}  // namespace evener::record
