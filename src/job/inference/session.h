// Runs a trained network on samples, for all commands that do so. Sinks take the predictions (prediction_sink.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "job/inference/images.h"
#include "job/inference/inference_flags.h"
#include "job/inference/prediction_sink.h"
#include "job/observer.h"
#include "run/metered_run.h"
#include "task/inference/infer.h"

namespace evener::job {

/// The samples of one show(), with the options of the inference and of the run.
struct Showing {
  const InferImages& images;
  task::InferOptions infer;
  run::RunOptions run;
  std::vector<const OptionGroup*> groups;   // the command's options, for the record
  const std::vector<std::string>& classes;  // names of the predicted classes
  bool times_layers = false;                // --profile layers
  /// Makes the first line of progress. Called before the run begins, so that an exception leaves no folder behind.
  std::function<std::string(const task::InferSetup&)> setup_line;
  /// Runs the samples, and fills in the record of the run, which has begun.
  std::function<void(task::InferJob&, run::MeteredRun&)> work;
};

struct Shown {
  record::Record record;
  std::filesystem::path folder;  // empty: none was asked for
};

/// The shape of each output, of one sample.
using OutputShapes = std::map<std::string, std::vector<std::int64_t>>;

class InferenceSession {
 public:
  /// Opens the network, and looks for the devices. Throws UsageError and Error.
  InferenceSession(const InferPlacementFlags& placement, const task::InferenceRequest& request);

  const placement::Plan& plan() const { return plan_; }
  Precision precision() const { return precision_; }
  /// The number of threads that read images.
  int threads() const { return threads_; }
  const task::InferenceModel& network() const { return network_; }

  /// Keeps the network compiled from one show() to the next, whose samples must have the same shape. A network that is
  /// divided into stages is compiled anew all the same.
  void stay_compiled() { stays_compiled_ = true; }
  /// Compiles the network for the samples, begins a run, tells `line` of it, and does Showing::work. Throws what
  /// MeteredRun::measure() throws.
  Shown show(const Showing& showing, Observer& line);

 private:
  void begin(const Showing& showing, run::MeteredRun& run, const task::InferSetup& setup, Observer& line) const;

  const placement::Plan plan_;
  const Precision precision_;
  const int threads_;
  const task::InferenceModel network_;
  bool stays_compiled_ = false;
  std::optional<task::InferJob> job_;
};

/// Gives the predictions of all samples to the sinks and then finishes these. Shows progress, unless a sink prints each
/// prediction.
task::InferResult predict_all(task::InferJob& job, const data::Samples& samples, PredictionSinks& sinks,
                              Observer& line);

/// "20 images"; "frames until Ctrl-C" of a camera.
std::string count_text(const data::Samples& samples);
/// How many frames of a camera or a pipe were dropped, for a note; "" for none, and for other samples.
std::string dropped_note(const data::Samples& samples, std::size_t answered);
/// Throws Error where a camera or pipe failed: to be called once the record is written.
void require_no_failure(const data::Samples& samples);

/// The options of an inference, for samples that may be a camera's: then each is computed as soon as it comes.
task::InferOptions options_for(const data::Samples& samples, task::InferOptions options);

/// The shapes of the network's outputs for one sample, found by a call on zeros.
OutputShapes output_shapes(task::InferJob& job, const data::Samples& samples);

/// "3 images could not be read: a.jpg: ..."; tells nothing where `skipped` is empty. `what`: "image", `why_not`:
/// "read".
void tell_skipped(const std::vector<data::Skipped>& skipped, const char* what, const char* why_not, Observer& line);

}  // namespace evener::job
