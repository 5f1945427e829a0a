// The cores that may be faster alone than together with slower ones, as work is cut into equal pieces.
#pragma once

#include <optional>

#include "placement/machine.h"

namespace evener::placement {

/// How many are of the fastest kind; nothing where a job has no more cores than these anyway, as all are alike or a
/// quota allows fewer.
inline std::optional<int> fastest_cores(const Machine& machine) {
  if (machine.cpu.kinds.empty() || machine.cpu.kinds.front().cores >= machine.cores) return std::nullopt;
  return machine.cpu.kinds.front().cores;
}

}  // namespace evener::placement
