// A channel between the hosts: a communicator of MPI of its own.
#pragma once

#include <mpi.h>

#include <memory>

#include "comm/communicator.h"
#include "comm/mpi/mpi_link.h"

namespace evener::comm::mpi {

/// `communicator` and `link` outlive it.
std::unique_ptr<Communicator> make_mpi_communicator(MPI_Comm communicator, const Link& link);

}  // namespace evener::comm::mpi
