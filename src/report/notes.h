// Notes that belong to the figures: why values are missing, why a run is INVALID. Inside report/ only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/run.h"

namespace evener::report {

/// The notes as plain sentences; runs with the same reason share one.
std::vector<std::string> notes_of(std::span<const Run> runs);

}  // namespace evener::report
