// What all of this process's calls of MPI have in common: errors as exceptions, waiting without spinning, and giving
// up when a host is lost.
#pragma once

#include <mpi.h>

#include <atomic>
#include <mutex>
#include <span>
#include <string>

namespace evener::comm::mpi {

/// Throws Error with MPI's own words unless `code` says that `call` worked.
void check(int code, const char* call);

class Link {
 public:
  /// Every wait, now or later, throws Error with `what`. The first reason stays.
  void lose(const std::string& what);
  void throw_if_lost() const;

  /// Until all requests are done. Blocking waits of MPI take a whole CPU, so this asks and sleeps by turns: short
  /// sleeps at first, later an eighth of what was waited already, so that a sleep too long adds little.
  void wait(std::span<MPI_Request> requests, std::span<MPI_Status> statuses, const char* call) const;
  void wait(MPI_Request request, const char* call) const;

 private:
  std::atomic<bool> lost_{false};
  mutable std::mutex mutex_;
  std::string reason_;
};

}  // namespace evener::comm::mpi
