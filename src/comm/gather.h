// Messages of different lengths from every member of a group to every member.
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.h"

namespace evener::comm {

/// Every member's bytes, by rank: all members call it with their own. One broadcast after the other, so it is for what
/// is exchanged now and then.
std::vector<std::string> gather_messages(Communicator& communicator, const std::string& own);

}  // namespace evener::comm
