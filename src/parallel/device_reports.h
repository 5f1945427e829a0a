// Gathers the device reports of all ranks' trainers.
#pragma once

#include <vector>

#include "comm/communicator.h"
#include "engine/trainer.h"

namespace evener::parallel {

/// A collective: each rank gives its own report and gets those of all ranks, by rank. Notes are not exchanged; the
/// result has only the caller's.
std::vector<engine::DeviceReport> exchange_reports(comm::Communicator& communicator, const engine::DeviceReport& own);

}  // namespace evener::parallel
