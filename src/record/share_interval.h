// How uncertain a share of so many is.
#pragma once

#include <cstdint>
#include <string>

#include "record/statistics.h"

namespace evener::record {

/// 95 % interval of the share of which `share` was seen among `count`: the exact one, which holds in 95 % or more
/// whatever the share is (Clopper and Pearson, The use of confidence or fiducial limits, 1934); [0, 1] for a count of
/// 0.
Interval share_interval(double share, std::int64_t count);

/// "40 to 100 %", of that interval.
std::string share_interval_text(double share, std::int64_t count);

/// How likely at least `correct` of `count` answers are right where each is with probability `share`: an exact binomial
/// test's p-value.
double chance_of_at_least(std::int64_t correct, std::int64_t count, double share);

}  // namespace evener::record
