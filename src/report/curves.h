// Finds runs whose learning curves coincide, so that a plot can draw them as one. Inside report/ only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/run.h"

namespace evener::report {

enum class Curve { kAccuracy, kLoss };

/// Groups the runs of a job; groups and their runs keep the given order. The curves of a group differ by less than a
/// marker's size at every epoch, in training and in validation.
std::vector<std::vector<std::size_t>> coinciding(std::span<const Run> runs, const std::vector<std::size_t>& job,
                                                 Curve curve);

}  // namespace evener::report
