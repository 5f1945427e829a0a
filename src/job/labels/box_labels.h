// Finds labels of boxes that look wrong.
#pragma once

#include <string>

#include "job/labels/findings.h"
#include "job/labels/labels_flags.h"
#include "job/observer.h"

namespace evener::job {

/// Judges the boxes of the data at `location` by what a detector finds: --model's, or else that of the training in the
/// folder `run`. Throws UsageError, Error, Interrupted.
LabelFindings find_box_labels(const LabelsFlags& flags, const std::string& location, const std::string& run,
                              Observer& observer);

}  // namespace evener::job
