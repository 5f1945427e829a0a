#include "comm/gather.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace evener::comm {

std::vector<std::string> gather_messages(Communicator& communicator, const std::string& own) {
  std::vector<std::string> messages(static_cast<std::size_t>(communicator.size()));
  for (int rank = 0; rank < communicator.size(); ++rank) {
    std::string& message = messages[static_cast<std::size_t>(rank)];
    if (rank == communicator.rank()) message = own;
    std::uint64_t size = message.size();
    communicator.broadcast(std::as_writable_bytes(std::span(&size, 1)), rank);
    message.resize(size);
    if (size > 0) communicator.broadcast(std::as_writable_bytes(std::span(message)), rank);
  }
  return messages;
}

}  // namespace evener::comm
