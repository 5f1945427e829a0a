#include "comm/host_group.h"

#include "base/module.h"

namespace evener::comm {

std::unique_ptr<HostGroup> connect_hosts(int channels) {
  static HostConnector* const connector = static_cast<HostConnector*>(require_module("mpi").create());
  return connector->connect(channels);
}

}  // namespace evener::comm
