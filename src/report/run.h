// A run folder read for a report: its record, and its samples where there are any.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "record/detection.h"
#include "record/predicted_images.h"
#include "record/record.h"
#include "report/timeline.h"

namespace evener::report {

/// Columns of samples.csv that the plots use; absent cells stay absent.
struct Samples {
  std::vector<double> time_s;
  std::vector<std::optional<double>> cpu_percent, others_percent, rss_bytes, pss_bytes;
  using Column = std::pair<std::string, std::vector<std::optional<double>>>;
  std::vector<Column> watts;   // of each device that a sensor sees
  std::vector<Column> phases;  // percent of the time between two samples
};

/// A layer of a quantised network: how far it is from the float one.
struct LayerNoise {
  std::string layer;
  bool quantized = false;         // or in float, with what comes from layers before it
  std::optional<double> sqnr_db;  // signal to quantisation noise; absent = no noise at all
};

struct Run {
  std::string name;  // of the folder; made unique among the runs of a report
  record::Record record;
  Samples samples;                  // empty where there is no samples.csv
  std::vector<double> latencies_s;  // of the queries of a scenario, shortest first; empty without latencies.csv
  std::vector<record::PredictedImage>
      predictions;                 // some of those that `evener infer` gave; empty without answers.json
  std::vector<LayerNoise> layers;  // of a quantised network; empty without layers.csv
  std::optional<record::DetectionFigures>
      detection;                      // of `evener detect` on known boxes; absent without detection.json
  std::vector<StageTask> timeline;    // of a pipeline's last steps; empty without stages.trace.json
  std::vector<std::string> warnings;  // e.g. an unreadable samples.csv, which does not stop a report
};

/// A run that says it is running, and to whose folder nobody writes, was killed. Reads DIR/record.json and, if there,
/// DIR/samples.csv. Throws Error naming the folder and the missing file.
Run load_run(const std::filesystem::path& dir);
/// All of them, each once, with unique names. A folder that has no record but whose folders have some stands for those,
/// in the order in which they were started.
std::vector<Run> load_runs(const std::vector<std::filesystem::path>& dirs);

}  // namespace evener::report
