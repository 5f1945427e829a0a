// What sets a run apart from others that do the same work. Inside report/ only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/run.h"

namespace evener::report {

/// "cpu/t2", and what else sets it apart from `other`: "cpu/t2 in bf16", "cpu/t2 with --lr 0.1".
std::string way_text(const record::Record& record, const record::Record& other);

/// The same among all of `group`, with their names where nothing else tells them apart.
std::vector<std::string> ways_of(const std::vector<const Run*>& group);

/// How each run is called among those of its job.
std::vector<std::string> labels_of(std::span<const Run> runs);

}  // namespace evener::report
