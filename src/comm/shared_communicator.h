// One rank's end of one channel of a SharedGroup.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/shared_memory.h"

namespace evener::comm {

std::unique_ptr<Communicator> make_shared_communicator(SharedMemory& memory, int rank, int channel, const char* name);

}  // namespace evener::comm
