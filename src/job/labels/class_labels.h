// Finds images whose class looks wrong.
#pragma once

#include <string>

#include "job/labels/findings.h"
#include "job/labels/labels_flags.h"
#include "job/observer.h"

namespace evener::job {

/// Judges the labels of the data at `location` by cross-validated heads on features (job/labels/features.h), by
/// confident learning. Copies of one image are in one fold, where such are looked for (data/copies.h). `run`: the
/// folder of the training on that data; "" = none. Throws UsageError, Error, Interrupted.
LabelFindings find_class_labels(const LabelsFlags& flags, const std::string& location, const std::string& run,
                                Observer& observer);

}  // namespace evener::job
