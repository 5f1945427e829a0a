// Loads a run's folder for a report: its record and, if present, its samples and other files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "record/record.h"

namespace evener::report {

/// The file in a run's folder, in Chrome's trace event format.
inline constexpr const char* kTimeline = "stages.trace.json";

/// A pass of a micro-batch through a stage.
struct StageTask {
  int replica = 0, stage = 0, step = 0, micro_batch = 0;
  std::string way;              // "forward", "backward" or "weights"
  double from_s = 0, to_s = 0;  // the first of all tasks begins at 0
};

/// Reads the tasks, sorted by replica, stage and time. Keeps only the last steps without a break longer than a step
/// (such as a validation) between them. Throws Error if the file has another format.
std::vector<StageTask> read_timeline(const std::filesystem::path& path);

/// Columns of samples.csv that the plots use; absent cells stay absent.
struct Samples {
  std::vector<double> time_s;
  std::vector<std::optional<double>> cpu_percent, others_percent, rss_bytes, pss_bytes;
  using Column = std::pair<std::string, std::vector<std::optional<double>>>;
  std::vector<Column> watts;   // power of each device with a sensor
  std::vector<Column> phases;  // phases in percent of the time between samples
};

struct Run {
  std::string name;              // the folder's name, made unique within a report
  std::filesystem::path folder;  // whose other files parts of the page read
  record::Record record;
  Samples samples;                    // empty without samples.csv
  std::vector<double> latencies_s;    // of a scenario's queries, ascending; empty without latencies.csv
  std::vector<StageTask> timeline;    // of a pipeline's last steps; empty without stages.trace.json
  std::vector<std::string> warnings;  // e.g. an unreadable samples.csv, which does not stop a report
};

/// What `read` makes of a file that a run may have; absent where it has none. Why it can't be read becomes a warning of
/// the run.
template <typename Read>
auto read_if_there(Run& run, const char* file, Read read) {
  std::optional<decltype(read(run.folder))> found;
  std::error_code error;
  try {
    if (std::filesystem::exists(run.folder / file, error)) found = read(run.folder / file);
  } catch (const Error& failure) {
    run.warnings.emplace_back(failure.what());
  }
  return found;
}

/// Reads the record in the folder `dir`. A run whose record says "running", but whose folder no process has locked,
/// gets the status kKilled. Throws Error naming the folder if record.json is missing or broken.
record::Record load_record(const std::filesystem::path& dir);
/// Loads the run in the folder `dir`, with its record as load_record() has it. Other files that can't be read become
/// warnings.
Run load_run(const std::filesystem::path& dir);
/// Loads all runs, each once, and gives them unique names. A folder without a record stands for the runs in it, in the
/// order in which they were started.
std::vector<Run> load_runs(const std::vector<std::filesystem::path>& dirs);

}  // namespace evener::report
