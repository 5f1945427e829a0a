// The part of a page that tells the quantisation error of each layer.
#pragma once

#include <span>

#include "report/page_part.h"
#include "report/run.h"

namespace evener::quantization {

/// Shows the runs that have a layers.csv: the signal-to-noise ratio of each layer.
report::PagePart layers_part(std::span<report::Run> runs);

}  // namespace evener::quantization
