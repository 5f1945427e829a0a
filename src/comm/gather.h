// An all-gather of messages of different lengths.
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.h"

namespace evener::comm {

/// Returns every member's bytes, by rank; all members call it, each with its own. It broadcasts one message after the
/// other, so it is too slow for every step.
std::vector<std::string> gather_messages(Communicator& communicator, const std::string& own);

}  // namespace evener::comm
