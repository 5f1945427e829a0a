#include "comm/host_group.h"

#include <cstdint>
#include <span>

#include "base/module.h"

namespace evener::comm {

std::unique_ptr<HostGroup> connect_hosts(int channels) {
  static HostConnector* const connector = static_cast<HostConnector*>(require_module("mpi").create());
  return connector->connect(channels);
}

std::vector<std::string> gather_texts(Communicator& between, const std::string& own) {
  std::vector<std::string> texts(static_cast<std::size_t>(between.size()));
  for (int host = 0; host < between.size(); ++host) {
    std::string& text = texts[static_cast<std::size_t>(host)];
    if (host == between.rank()) text = own;
    std::uint64_t size = text.size();
    between.broadcast(std::as_writable_bytes(std::span(&size, 1)), host);
    text.resize(size);
    if (size > 0) between.broadcast(std::as_writable_bytes(std::span(text)), host);
  }
  return texts;
}

}  // namespace evener::comm
