// The number of a hybrid CPU's fastest cores. Work is cut into equal pieces, so these cores alone may be faster than
// together with slower ones, for which they would have to wait.
#pragma once

#include <optional>

#include "placement/machine.h"

namespace evener::placement {

/// The number of cores of the fastest kind. Absent if a job has no other cores anyway, because all are alike or a quota
/// allows no more.
inline std::optional<int> fastest_cores(const Machine& machine) {
  if (machine.cpu.kinds.empty() || machine.cpu.kinds.front().cores >= machine.cores) return std::nullopt;
  return machine.cpu.kinds.front().cores;
}

}  // namespace evener::placement
