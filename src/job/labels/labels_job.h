// Finds labels that look wrong in data, and writes them down.
#pragma once

#include "base/this_work.h"
#include "job/labels/findings.h"
#include "job/labels/labels_flags.h"
#include "job/observer.h"

namespace evener::job {

/// Judges the labels, and writes labels.csv and labels.html into the folder of --out, if there is one. Throws
/// UsageError, Error, Interrupted.
LabelFindings find_labels(const LabelsCommandFlags& flags, Observer& observer, const StopFlag* stop = nullptr);

}  // namespace evener::job
