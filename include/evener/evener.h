// evener as a library: trains, runs, embeds and detects with image networks on every processor a machine has.
// docs/library.md tells how to build with it; link evener::evener.
#pragma once

#include "evener/error.h"
#include "evener/jobs.h"
#include "evener/loaded_network.h"
#include "evener/observer.h"
#include "evener/options.h"
#include "evener/stop.h"

namespace evener {

/// The library's version, such as "0.1.0".
const char* version();

}  // namespace evener
