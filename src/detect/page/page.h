// The part of a page that tells how well detectors found the true boxes.
#pragma once

#include <span>

#include "report/page_part.h"
#include "report/run.h"

namespace evener::detection {

/// Of the runs with a detection.json: average precision, curves, what was taken for what, and the worst misses.
report::PagePart detection_part(std::span<report::Run> runs);

}  // namespace evener::detection
