// Signs of life between the hosts: MPI itself does not notice a host that is frozen or cut off.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace evener::comm::mpi {

class Heartbeat {
 public:
  /// Host 0 beats to all and listens to all; the others beat to host 0 and listen to it.
  Heartbeat(MPI_Comm communicator, std::vector<std::string> names, std::function<void(const std::string&)> on_lost);
  /// Leaves nothing under way on `communicator`.
  ~Heartbeat();

 private:
  struct Peer;
  void live(const std::stop_token& stop);
  bool beat(Peer& peer) const;

  MPI_Comm communicator_;
  std::vector<std::string> names_;
  std::function<void(const std::string&)> on_lost_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::jthread thread_;
};

}  // namespace evener::comm::mpi
