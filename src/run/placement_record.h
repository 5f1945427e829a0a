// Converts a plan to the record's placement.
#pragma once

#include "base/precision.h"
#include "placement/plan.h"
#include "record/record.h"

namespace evener::run {

/// The devices, threads and CPUs of a plan's replicas, with their given shares.
record::PlacementRecord placement_record(const placement::Plan& plan);

/// Corrects the threads of CPU stages for an engine that uses at most `most` threads per stage.
void limit_threads(record::PlacementRecord& placement, int most);

/// Adds fallbacks to the record for devices of the plan that don't compute everything in `precision`. Adds no sentence
/// twice.
void add_precision_fallbacks(record::Record& record, const placement::Plan& plan, Precision precision);

}  // namespace evener::run
