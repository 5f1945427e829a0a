// Which of the run's hosts this process leads, according to the program that started it (mpirun, srun).
#pragma once

namespace evener::comm {

struct HostPosition {
  int host = 0, hosts = 1;
};

/// From the environment: OMPI_COMM_WORLD_RANK and _SIZE of mpirun, otherwise SLURM_PROCID and SLURM_NTASKS of srun.
/// Throws Error when neither is there or they make no sense.
HostPosition host_position();

}  // namespace evener::comm
