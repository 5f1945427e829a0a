// The parts of a page that the capabilities add.
#pragma once

#include <span>
#include <vector>

#include "report/page_part.h"
#include "report/run.h"

namespace evener::app {

/// What each capability says of the runs. What can't be read of their folders becomes warnings of the runs.
std::vector<report::PagePart> page_parts(std::span<report::Run> runs);

}  // namespace evener::app
