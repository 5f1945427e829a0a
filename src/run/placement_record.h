// A plan as the record tells it.
#pragma once

#include "measure/record.h"
#include "placement/plan.h"

namespace evener::run {

/// Where the replicas of a plan compute, with the shares that they were given.
measure::PlacementRecord placement_record(const placement::Plan& plan);

/// For an engine that takes no more threads than this for a stage, however many it was given.
void limit_threads(measure::PlacementRecord& placement, int most);

}  // namespace evener::run
