// What the devices of all replicas were put to, brought together.
#pragma once

#include <vector>

#include "comm/communicator.h"
#include "engine/offers.h"

namespace evener::parallel {

/// Of each rank; called by all of them. Notes stay where they are: only those of `own` are in the result.
std::vector<engine::DeviceReport> exchange_reports(comm::Communicator& communicator, const engine::DeviceReport& own);

}  // namespace evener::parallel
