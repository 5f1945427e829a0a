// Cells that nothing beats, by two figures at once. Inside report/ only.
#pragma once

#include <string>
#include <vector>

#include "report/sweep.h"

namespace evener::report {

/// For each cell whether it lies on the front: no other cell is better in one of the two figures, by the whole 95 %
/// interval of their ratio, and at least as good in the other by its mean. Cells without one of the figures don't.
std::vector<bool> front_of(const Sweep& sweep, const std::string& first, const std::string& second);

}  // namespace evener::report
