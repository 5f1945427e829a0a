// `evener serve`: runs a trained network for requests over HTTP until it is told to stop.
#pragma once

#include <cstdint>
#include <string>

#include "base/this_work.h"
#include "job/observer.h"
#include "job/serve/serve_flags.h"

namespace evener::job {

/// The counts of a server at its end.
struct ServedTotals {
  std::uint64_t requests = 0, samples = 0, batches = 0;
  double seconds = 0;
  std::string energy = {};  // see ServeEnergy::text()
};

/// Sets options that were not given from the .toml file beside the network's file (take_sidecar()). Throws UsageError.
void complete(ServeFlags& flags);

/// Serves until `stop` or a signal, and then answers the requests that were accepted. Tells `observer` the address on a
/// line of its own once requests can be sent. `flags` must be completed. Throws UsageError and Error.
ServedTotals serve(const ServeFlags& flags, Observer& observer, const StopFlag* stop = nullptr);

}  // namespace evener::job
