// What the trainers of all replicas report of their devices, brought together.
#pragma once

#include <vector>

#include "comm/communicator.h"
#include "engine/capabilities.h"

namespace evener::parallel {

/// The report of each rank, by rank. All ranks call it with their own. Notes are not exchanged: those of `own` alone
/// are in the result.
std::vector<engine::DeviceReport> exchange_reports(comm::Communicator& communicator, const engine::DeviceReport& own);

}  // namespace evener::parallel
