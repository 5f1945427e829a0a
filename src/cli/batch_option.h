// The value of --batch: a number, or the most that fits.
#pragma once

#include <cstdint>

#include "cli/training.h"

namespace evener::cli {

/// The number of --batch; for max, one to begin with. Throws UsageError, also where max can't be found.
std::int64_t parse_batch(const TrainFlags& flags);

}  // namespace evener::cli
