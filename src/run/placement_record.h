// A plan as the record tells it.
#pragma once

#include "base/precision.h"
#include "placement/plan.h"
#include "record/record.h"

namespace evener::run {

/// Where the replicas of a plan compute, with the shares that they were given.
record::PlacementRecord placement_record(const placement::Plan& plan);

/// For an engine that takes no more threads than this for a stage, however many it was given.
void limit_threads(record::PlacementRecord& placement, int most);

/// Adds to the record's fallbacks what is computed otherwise than in `precision` on devices of the plan: each sentence
/// once, and none that the record has already.
void add_precision_fallbacks(record::Record& record, const placement::Plan& plan, Precision precision);

}  // namespace evener::run
