// Figures that several outputs show, worked out from a record in one place. Inside report/ only.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/run.h"

namespace evener::report {

/// Median seconds of training per epoch, the first left out where there are more.
std::optional<double> seconds_per_epoch(const measure::Record& record);

/// The best validation accuracy: the record's, or the largest of its epochs.
std::optional<double> best_val_accuracy(const measure::Record& record);

/// The epoch with the lowest validation loss, if from there on that loss rose by more than a tenth while the training
/// loss went on falling: what was learnt later was learnt by heart.
std::optional<std::int64_t> overfitting_epoch(const measure::Record& record);

/// Indices of the runs of each job, jobs and runs in the order given.
std::vector<std::vector<std::size_t>> jobs_of(std::span<const Run> runs);

/// What a run's speed is compared with: the first of `runs` that does the same work (maybe the run itself).
const measure::Record& base_of(std::span<const Run> runs, const Run& run);

/// images/s relative to `base`; absent where one is missing.
std::optional<double> speed_against(const measure::Record& record, const measure::Record& base);

/// Time of the run that no phase of the critical thread covers; absent without times or phases.
std::optional<double> other_s(const measure::Record& record);

/// "VALID", "INVALID", or "-" if not judged.
std::string validity_text(const measure::Record& record);

/// Whether two runs do the same work, so that their speeds can be compared: kind, model, data and image shape.
bool same_job(const measure::Record& a, const measure::Record& b);

/// "resnet34 on synth:masks".
std::string job_text(const measure::Record& record);

}  // namespace evener::report
