// A trained network that is shown samples: what the commands that do so have in common. What becomes of the
// predictions, sinks say (answer_sink.h).
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

/// What a network is shown, how, and in which run.
struct Showing {
  const InferImages& images;
  task::InferOptions infer;
  run::RunOptions run;
  std::vector<const OptionGroup*> groups;   // the command's options, for the record
  const std::vector<std::string>& classes;  // that predictions are of
  bool times_layers = false;                // --profile layers
  /// A line that says what is shown to what. It is asked for before the run begins: what it throws leaves no folder.
  std::function<std::string(const task::InferSetup&)> setup_line;
  /// Shows the images, and fills in the record of the run, which has begun.
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
  /// That read images.
  int threads() const { return threads_; }
  const task::InferenceModel& network() const { return network_; }

  /// From now on the network stays compiled from one show() to the next, whose samples are of one shape; one that is
  /// divided into stages stays open alone.
  void stay_compiled() { stays_compiled_ = true; }
  /// Compiles the network for the images, begins a run, tells `line` of it, and does the work. Throws what
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

/// Every sample's prediction to the sinks, which are finished then; shows how far that is, where they don't tell each.
task::InferResult predict_all(task::InferJob& job, const data::Samples& samples, PredictionSinks& sinks,
                              Observer& line);

/// What the network gives of each sample. A call on zeros tells it.
OutputShapes output_shapes(task::InferJob& job, const data::Samples& samples);

/// "3 images could not be read: a.jpg: ..."; nothing where there are none. `what`: "image", `why_not`: "read".
void tell_skipped(const std::vector<data::Skipped>& skipped, const char* what, const char* why_not, Observer& line);

}  // namespace evener::job
