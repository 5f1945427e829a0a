// Figures that several outputs show, worked out from a record in one place. Inside report/ only.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "record/metric.h"
#include "report/run.h"

namespace evener::report {

/// A figure as it stands below its column's title, which says the unit of what is only a number: "26.9", "97.2 %".
/// `missing` where it has no value; energy, which few machines measure, is then called absent.
std::string cell_text(const record::Metric& metric, const char* missing);
/// A figure with its unit, for a sentence or a card: "26.9 images/s", "3 min 10 s".
std::string figure_text(const record::Metric& metric, const char* missing);

/// Whether the figure is among `metrics` and has a value.
bool has_value(const std::vector<record::Metric>& metrics, const std::string& name);

/// The epoch with the lowest validation loss, if from there on that loss rose by more than a tenth while the training
/// loss went on falling: what was learnt later was overfitting.
std::optional<std::int64_t> overfitting_epoch(const record::Record& record);

/// Indices of the runs of each job, jobs and runs in the order given.
std::vector<std::vector<std::size_t>> jobs_of(std::span<const Run> runs);

/// What a run's speed is compared with: the first of `runs` that does the same work (maybe the run itself).
const record::Record& base_of(std::span<const Run> runs, const Run& run);

/// Whether no other of `runs` does the same work, so that there is nothing to compare its speed with.
bool is_alone(std::span<const Run> runs, const Run& run);

/// How many times as fast as `base`, by the main speeds of both; absent where one is missing.
std::optional<double> speed_against(const record::Record& record, const record::Record& base);

/// Energy-delay product of the run divided by that of `base`; with `used_only` of the devices alone that each computed
/// on. Absent where one is missing.
std::optional<double> edp_against(const record::Record& record, const record::Record& base, bool used_only);

/// Time of the run that no phase of the critical thread covers; absent without times or phases.
std::optional<double> other_s(const record::Record& record);

/// "VALID", "INVALID", or "-" if not judged.
std::string validity_text(const record::Record& record);

/// Whether two runs do the same work, so that their speeds can be compared: kind, model, data, image shape and
/// scenario.
bool same_job(const record::Record& a, const record::Record& b);

/// "resnet34 on synth:masks", "resnet34 on photos, server".
std::string job_text(const record::Record& record);

}  // namespace evener::report
