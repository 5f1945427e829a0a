// Short descriptions of what distinguishes a run from others that do the same work. Inside report/ only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/run.h"

namespace evener::report {

/// The run's placement and its differences from `other`: "cpu/t2", "cpu/t2 in bf16", "cpu/t2 with --lr 0.1".
std::string way_text(const record::Record& record, const record::Record& other);

/// A description of each run of `group` that distinguishes it from all others; adds the runs' names if nothing else
/// does.
std::vector<std::string> ways_of(const std::vector<const Run*>& group);

/// The label of each run among the runs of its job.
std::vector<std::string> labels_of(std::span<const Run> runs);

}  // namespace evener::report
