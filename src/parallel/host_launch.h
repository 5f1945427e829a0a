// Starts a command of this program on several hosts, one process on each, and waits for its end.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace evener::parallel {

/// A host, or a rank on one, was lost. The run may go on from its last checkpoint.
class HostLost : public Error {
 public:
  using Error::Error;
};

struct HostLaunch {
  std::vector<std::string> hosts;
  bool slurm = false;              // `hosts` are those of the Slurm allocation that this process is in
  std::string program;             // path of the program, the same on all hosts
  std::vector<std::string> words;  // its arguments, without the program's name
};

/// The command line that starts the processes: mpirun's, which reaches the nodes of an allocation through Slurm, or
/// srun's in an allocation without mpirun. Throws Error when there is neither.
std::vector<std::string> starter_words(const HostLaunch& launch);

/// Starts the processes and waits for them. Host 0's stdout becomes ours, and all hosts' messages go to our stderr. A
/// stop request is passed on. Throws HostLost, or the message of the first process that failed, as Error, UsageError or
/// Interrupted according to its exit code. Leaves nothing running on this host; processes on hosts that can't be
/// reached end by themselves.
void run_on_hosts(const HostLaunch& launch);

}  // namespace evener::parallel
