// The uncertainty of a share, such as an accuracy, by the number of images.
#pragma once

#include <cstdint>
#include <string>

#include "record/statistics.h"

namespace evener::record {

/// The exact 95 % interval of a share that was observed as `share` among `count`. It covers at least 95 % whatever the
/// true share is (Clopper and Pearson, The use of confidence or fiducial limits, 1934). [0, 1] for a count of 0.
Interval share_interval(double share, std::int64_t count);

/// The same interval as text: "40 to 100 %".
std::string share_interval_text(double share, std::int64_t count);

/// The p-value of an exact binomial test: the probability that at least `correct` of `count` answers are right by
/// chance, if each is with probability `share`.
double chance_of_at_least(std::int64_t correct, std::int64_t count, double share);

}  // namespace evener::record
