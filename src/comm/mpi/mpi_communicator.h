// Channels between the hosts, each a communicator of MPI of its own, and what all calls of MPI in this process share:
// errors become exceptions, waits don't spin, and all waits are given up when a host is lost.
#pragma once

#include <mpi.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "comm/communicator.h"

namespace evener::comm::mpi {

/// Throws Error with MPI's own words unless `code` says that `call` worked.
void check(int code, const char* call);

class Link {
 public:
  /// Makes every wait, now or later, throw Error with `what`. The first reason stays.
  void lose(const std::string& what);
  void throw_if_lost() const;

  /// Waits until all requests are done. MPI's own blocking waits take a whole CPU, so this polls and sleeps by turns.
  /// Sleeps are short at first and later an eighth of the time waited so far, so that sleeping too long adds little.
  void wait(std::span<MPI_Request> requests, std::span<MPI_Status> statuses, const char* call) const;
  void wait(MPI_Request request, const char* call) const;

 private:
  std::atomic<bool> lost_{false};
  mutable std::mutex mutex_;
  std::string reason_;
};

/// `communicator` and `link` outlive it.
std::unique_ptr<Communicator> make_mpi_communicator(MPI_Comm communicator, const Link& link);

}  // namespace evener::comm::mpi
