// What a reader must know beside the figures: why values are missing, why a run is INVALID. Inside report/ only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/run.h"

namespace evener::report {

/// Plain sentences; a reason that several runs share is told once.
std::vector<std::string> notes_of(std::span<const Run> runs);

}  // namespace evener::report
