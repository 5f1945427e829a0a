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
  bool slurm = false;              // they are those of the Slurm allocation we are in
  std::string program;             // its path, the same on all hosts
  std::vector<std::string> words;  // its command line without its name
};

/// The command line that starts it: mpirun's (which takes Slurm's own way into the nodes of an allocation), or srun's
/// in an allocation where there is no mpirun. Throws Error when there is neither.
std::vector<std::string> starter_words(const HostLaunch& launch);

/// stdout of host 0's process is ours, messages of all go to our stderr. A stop request is passed on. Throws HostLost,
/// or what the first process that failed said (Error, UsageError or Interrupted by its exit code). Nothing is left
/// running here; hosts that can't be reached end by themselves.
void run_on_hosts(const HostLaunch& launch);

}  // namespace evener::parallel
