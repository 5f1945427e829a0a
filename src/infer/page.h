// The part of a page that shows some images with a network's predictions.
#pragma once

#include <span>

#include "report/page_part.h"
#include "report/run.h"

namespace evener::inference {

/// Of the runs with an answers.json: the surest mistakes, what was right, and one image in so many.
report::PagePart predictions_part(std::span<report::Run> runs);

}  // namespace evener::inference
