// Prepares the latencies of a run's queries for plots. Inside report/ only.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "report/run.h"

namespace evener::report {

/// Reads the column latency_s of a latencies.csv, shortest first; skips lines without a number (a killed run's last
/// one). Throws Error naming the file if it can't be read or has no such column.
std::vector<double> read_latencies(const std::filesystem::path& path);

/// A histogram of latencies: the shares of queries in bins that are equally wide on a logarithmic scale.
struct LatencyHistogram {
  std::vector<double> edges_s;  // one more than shares
  std::vector<double> shares;
};
/// The histogram of sorted latencies; empty for none.
LatencyHistogram latency_histogram(const std::vector<double>& sorted_s);

/// Whether the page has plots of the run's latency.
bool has_latency(const Run& run);

/// The data that page/latency.js.inc draws for a run.
nlohmann::ordered_json latency_data(const Run& run);

}  // namespace evener::report
