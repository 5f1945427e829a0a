// A scenario's result as figures of a record, and as a file of all latencies.
#pragma once

#include <filesystem>

#include "bench/run_scenario.h"
#include "record/record.h"

namespace evener::bench {

/// Where a run's folder has the latencies of all queries.
inline constexpr const char* kLatencies = "latencies.csv";

/// Adds to `record` the scenario, its seeds, its figures and notes, and what its rules say of its validity; an
/// interrupted one is marked so. The figure of the scenario is the run's main speed, unless the record has
/// images_per_s.
void fill_record(const ScenarioResult& result, record::Record& record);

/// Writes a line for each query (offline: batch) in the order of the answers: when it was asked, how long it took, and
/// the parts of that, empty where they aren't known.
void write_latencies(const std::filesystem::path& path, const ScenarioResult& result);

}  // namespace evener::bench
