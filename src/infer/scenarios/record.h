// Writes a scenario's result into a record, and all latencies into a file.
#pragma once

#include <filesystem>

#include "infer/scenarios/run_scenario.h"
#include "record/record.h"

namespace evener::inference {

/// The file of a run's folder with the latencies of all queries.
inline constexpr const char* kLatencies = "latencies.csv";

/// Adds to `record` the scenario, its seeds, figures and notes, and its validity by the scenario's rules. An
/// interrupted scenario gets the status kInterrupted. The scenario's figure becomes the run's main speed, unless the
/// record has images_per_s.
void fill_record(const ScenarioResult& result, record::Record& record);

/// Writes a CSV row for each query (offline: batch), in the order of the answers: when it was issued, its latency, and
/// the parts of the latency, which are empty if unknown.
void write_latencies(const std::filesystem::path& path, const ScenarioResult& result);

}  // namespace evener::inference
