// The rules for a run's times to be VALID, that is fit to be quoted; else the run is INVALID, with the broken rule and
// advice.
#pragma once

#include "record/record.h"

namespace evener::record {

/// Limits of the rules; docs/measuring.md explains them.
struct ValidityLimits {
  double others_percent = 5;     // other processes' load, in percent of all CPUs together
  double steal_percent = 2;      // time stolen by a virtual machine's host, likewise
  double swap_bytes = 1 << 20;   // swapped-out memory of the process
  double quartile_spread = 0.2;  // (upper - lower quartile) / median of images_per_s
};

/// Judges a finished record by its contents. Keeps the reasons in record.validity that its task has given.
Validity judge(const Record& record, const ValidityLimits& limits = {});

}  // namespace evener::record
