// A run folder read for a report: its record, and its samples where there are any.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "measure/record.h"

namespace evener::report {

/// Columns of samples.csv that the plots use; absent cells stay absent.
struct Samples {
  std::vector<double> time_s;
  std::vector<std::optional<double>> cpu_percent, others_percent, rss_bytes, pss_bytes;
};

struct Run {
  std::string name;  // of the folder; made unique among the runs of a report
  measure::Record record;
  Samples samples;                    // empty where there is no samples.csv
  std::vector<std::string> warnings;  // e.g. an unreadable samples.csv, which does not stop a report
};

/// A run that says it is running, and to whose folder nobody writes, was killed. Reads DIR/record.json and, if there,
/// DIR/samples.csv. Throws Error naming the folder and the missing file.
Run load_run(const std::filesystem::path& dir);
/// All of them, with unique names. A folder that has no record but whose folders have some stands for those, in the
/// order in which they were started.
std::vector<Run> load_runs(const std::vector<std::filesystem::path>& dirs);

}  // namespace evener::report
