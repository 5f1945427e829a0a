// Heartbeats between the hosts: MPI itself does not notice a host that is frozen or cut off.
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
  /// Host 0 exchanges heartbeats with all others, which exchange them with host 0 alone.
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
