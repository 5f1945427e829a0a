// The latencies of a run's queries, for the plots. Inside report/ only.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "report/run.h"

namespace evener::report {

/// The column latency_s of a latencies.csv, shortest first; lines without a number in it (a killed run's last one) are
/// left out. Throws Error naming the file if it can't be read or has no such column.
std::vector<double> read_latencies(const std::filesystem::path& path);

/// How latencies are distributed: shares of the queries between edges that are equally far from each other on a
/// logarithmic scale.
struct LatencyHistogram {
  std::vector<double> edges_s;  // one more than shares
  std::vector<double> shares;
};
/// Of sorted latencies; empty for none.
LatencyHistogram latency_histogram(const std::vector<double>& sorted_s);

/// Whether the page has plots of the run's latency.
bool has_latency(const Run& run);

/// What page/latency.js.inc draws of a run.
nlohmann::ordered_json latency_data(const Run& run);

}  // namespace evener::report
