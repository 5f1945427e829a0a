// Connects the leading processes of a run's hosts, through a module (comm/mpi).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"

namespace evener::comm {

/// One host's leading process among the others. Threads may use different channels at the same time.
class HostGroup {
 public:
  /// Without a close() before, leaves the group without telling the other hosts, as a failing process does.
  virtual ~HostGroup() = default;

  virtual int host() const = 0;  // 0 to hosts() - 1
  virtual int hosts() const = 0;

  /// This host's end of a channel between hosts; may be asked for once per channel. Its set_members() only accepts all
  /// hosts.
  virtual std::unique_ptr<Communicator> channel(int index) = 0;

  /// From now on hosts exchange heartbeats; host 0 listens to all, the others to host 0. When one stays away, every
  /// collective, waiting or to come, throws Error, and `on_lost` is called once, on a thread of the group. `names`: of
  /// the hosts, for the message.
  virtual void watch(std::vector<std::string> names, std::function<void(const std::string& what)> on_lost) = 0;

  /// Leaves the group in good order; returns when every host has called it.
  virtual void close() = 0;
};

/// The interface of the module.
class HostConnector {
 public:
  virtual ~HostConnector() = default;
  /// Called once in a process, by every host of the run.
  virtual std::unique_ptr<HostGroup> connect(int channels) = 0;
};

/// Connects through MPI. Throws Error when the module is missing, or the processes were not started together.
std::unique_ptr<HostGroup> connect_hosts(int channels);

/// Which of the run's hosts this process leads, according to the program that started it (mpirun, srun).
struct HostPosition {
  int host = 0, hosts = 1;
};

/// From the environment: OMPI_COMM_WORLD_RANK and _SIZE of mpirun, otherwise SLURM_PROCID and SLURM_NTASKS of srun.
/// Throws Error when neither is there or they make no sense.
HostPosition host_position();

}  // namespace evener::comm
