// A trained network that answers over HTTP until it is told to stop.
#pragma once

#include <cstdint>
#include <string>

#include "base/this_work.h"
#include "job/observer.h"
#include "job/serve/serve_flags.h"

namespace evener::job {

/// What a server did until its end.
struct ServedTotals {
  std::uint64_t requests = 0, samples = 0, batches = 0;
  double seconds = 0;
};

/// Gives values to options that were not given, from the file beside the network's. Throws UsageError.
void complete(ServeFlags& flags);

/// Serves until `stop` or a signal, and then answers what was accepted. Tells `observer` the address as a line of its
/// own once requests are taken. Options have been completed. Throws UsageError and Error.
ServedTotals serve(const ServeFlags& flags, Observer& observer, const StopFlag* stop = nullptr);

}  // namespace evener::job
