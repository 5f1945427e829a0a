// The rules that a run keeps for its times to be quotable: VALID, or INVALID with the rule and what to do.
#pragma once

#include "record/record.h"

namespace evener::record {

/// Limits of the rules; docs/measuring.md explains them.
struct ValidityLimits {
  double others_percent = 5;     // load of other processes, percent of all CPUs of the machine together
  double steal_percent = 2;      // time that the host of a virtual machine took, percent of all CPUs together
  double swap_bytes = 1 << 20;   // of the process swapped out
  double quartile_spread = 0.2;  // (upper - lower quartile) / median of images_per_s
};

/// Judges a finished record from what stands in it; does not change it. Reasons that its task gave count, too.
Validity judge(const Record& record, const ValidityLimits& limits = {});

}  // namespace evener::record
