// Cells of a sweep that were asked for differently and did the same. Inside report/ only.
#pragma once

#include <string>
#include <vector>

#include "report/sweep.h"

namespace evener::report {

/// A sentence for each cell that computed what an earlier one did: "on=cpu/t16 ran as on=cpu/t2: ...".
std::vector<std::string> alike_notes(const Sweep& sweep);

}  // namespace evener::report
