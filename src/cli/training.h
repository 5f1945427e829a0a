// One training run as the command line sees it: options as they were typed, the run with its measuring, its record.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "measure/record.h"
#include "placement/plan.h"
#include "task/train.h"

namespace evener::cli {

/// The options of `evener train` as typed; empty = not given.
struct TrainFlags {
  std::string model, data, on = "cpu";
  std::string engine = "auto", precision = "fp32", loss = "cross-entropy", layout = "auto", kernels = "simd";
  std::string optimizer = "sgd", schedule = "constant";
  std::string size, split, out, json, trace;
  std::string weights, normalize;
  std::vector<std::string> freeze;
  std::string augment, decode = "exact";
  std::vector<std::string> classes;  // "NAME=GLOB"
  std::optional<std::int64_t> channels;
  int epochs = 10;
  std::string batch = "64";  // a number, or max
  std::string data_on = "host", step_graph = "auto";
  std::optional<double> learning_rate, weight_decay;  // absent = the optimiser's usual one
  double momentum = 0, warmup_epochs = 0, clip_norm = 0, average_decay = 0, label_smoothing = 0, until_accuracy = 0;
  int accumulate = 1, patience = 0;
  bool nesterov = false;
  int validate_every = 1, sample_interval_ms = 500;
  std::optional<int> loader_threads;  // absent = the engine's usual number
  std::uint64_t seed = 1;
  std::string replicas = "auto", shares, exchange = "auto", exchange_precision = "fp32", batch_norm = "synchronised";
  int restarts = 0;
  bool elastic = false, oversubscribe = false;
  double plan_seconds = 15;  // that --on auto may measure
  std::string hosts;         // names, or a file
  int hosts_started = 0;     // kHostsStarted
  bool strict = false, resume = false, overwrite = false, dry_run = false, quiet = false;
};

/// The option that tells a process that it is one of so many, each started for one host.
inline constexpr const char* kHostsStarted = "--hosts-started";

struct TrainingOutcome {
  measure::Record record;
  task::TrainStatus status = task::TrainStatus::kDone;
  std::string status_reason;
  std::filesystem::path out;
};

/// The plan of the placement in `flags` on this host; for "auto", which needs the data to be chosen, that of all cores.
/// Throws UsageError.
placement::Plan plan_of(const TrainFlags& flags);
placement::PlanOptions plan_options(const TrainFlags& flags);

/// Checks the flags and turns them into what task::train takes. Throws UsageError.
task::TrainOptions train_options(const TrainFlags& flags, const placement::Plan& plan);

/// Prepares the output folder, trains with the meter running, and writes record.json, epochs.csv and samples.csv.
/// Progress goes to stderr. A process that leads another host than the first trains only, and has nothing to tell. A
/// run that stops before its first step leaves nothing behind.
TrainingOutcome run_training(const TrainFlags& flags);

}  // namespace evener::cli
