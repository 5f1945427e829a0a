// The section of the report on calibration: reliability diagrams, and images that are unknown (out of distribution).
#pragma once

#include <span>

#include "report/page_part.h"
#include "report/run.h"

namespace evener::inference {

/// Shows the runs that have a calibration.json.
report::PagePart calibration_part(std::span<report::Run> runs);

}  // namespace evener::inference
