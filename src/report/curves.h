// Which runs have learnt so much alike that their curves lie on each other. Inside report/ only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/run.h"

namespace evener::report {

enum class Curve { kAccuracy, kLoss };

/// The runs of a job in groups, both in the order given: those of a group can be drawn as one curve, because they
/// differ by less than the width of a marker at every epoch, in training and in validation.
std::vector<std::vector<std::size_t>> coinciding(std::span<const Run> runs, const std::vector<std::size_t>& job,
                                                 Curve curve);

}  // namespace evener::report
