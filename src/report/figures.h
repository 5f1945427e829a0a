// Figures computed from records that several outputs show.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "record/metric.h"
#include "report/run.h"

namespace evener::report {

/// A figure as a table's cell, "26.9" or "97.2 %"; the column's title has the unit. `missing` is shown for a figure
/// without a value, except energy, for which it is "absent".
std::string cell_text(const record::Metric& metric, const char* missing);
/// A figure with its unit, for a sentence or a card: "26.9 images/s", "3 min 10 s".
std::string figure_text(const record::Metric& metric, const char* missing);

/// Whether the figure is among `metrics` and has a value.
bool has_value(const std::vector<record::Metric>& metrics, const std::string& name);

/// How the warning of a training begins that overfitted.
inline constexpr const char* kOverfitting = "overfitting: ";
/// Where the training warned of overfitting, the epoch after which it did: that of the lowest validation loss, if this
/// rose by more than a tenth from there while the training loss still fell. Else absent.
std::optional<std::int64_t> overfitting_epoch(const record::Record& record);

/// Indices of the runs of each job, jobs and runs in the order given.
std::vector<std::vector<std::size_t>> jobs_of(std::span<const Run> runs);

/// The baseline of a run's speed: the first of `runs` that does the same work, perhaps the run itself.
const record::Record& base_of(std::span<const Run> runs, const Run& run);

/// Whether no other run of `runs` does the same work, so that there is no baseline.
bool is_alone(std::span<const Run> runs, const Run& run);

/// The speedup over `base`, by the main speeds; absent if one is missing.
std::optional<double> speed_against(const record::Record& record, const record::Record& base);

/// The energy-delay product over that of `base`; with `used_only` of the devices that each run computed on. Absent if
/// one is missing.
std::optional<double> edp_against(const record::Record& record, const record::Record& base, bool used_only);

/// The time outside of all phases of the critical thread; absent without times or phases.
std::optional<double> other_s(const record::Record& record);

/// "VALID", "INVALID", or "-" if not judged. Where only times, speeds and joules by themselves are INVALID, by rules
/// that are told in passing: "beside other programs".
std::string validity_text(const record::Record& record);
/// Whether the text is one of the latter.
bool is_told_in_passing(const record::Record& record);
/// "beside other programs (7 % of the CPUs)"; without the percent if absent.
std::string load_text(const std::optional<double>& percent);

/// "AMD EPYC, 2 cores (4 logical), a quota of 1.5, 31 GiB".
std::string machine_text(const record::MachineRecord& machine);

/// Whether two runs do the same work, so that their speeds can be compared: kind, model, data, image shape and
/// scenario.
bool same_job(const record::Record& a, const record::Record& b);

/// "resnet34 on synth:masks", "resnet34 on photos, server".
std::string job_text(const record::Record& record);

/// The notes as plain sentences; runs with the same reason share one.
std::vector<std::string> notes_of(std::span<const Run> runs);

// Short descriptions of what distinguishes a run from others that do the same work.

/// The run's placement and its differences from `other`: "cpu/t2", "cpu/t2 in bf16", "cpu/t2 with --lr 0.1".
std::string way_text(const record::Record& record, const record::Record& other);

/// A description of each run of `group` that distinguishes it from all others; adds the runs' names if nothing else
/// does.
std::vector<std::string> ways_of(const std::vector<const Run*>& group);

/// The label of each run among the runs of its job.
std::vector<std::string> labels_of(std::span<const Run> runs);

}  // namespace evener::report
