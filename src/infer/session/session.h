// Runs a trained network on samples, for all commands that do so.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "infer/run/infer.h"
#include "infer/session/images.h"
#include "infer/session/options.h"
#include "measure/run/metered_run.h"
#include "measure/run/observer.h"
#include "record/record.h"

namespace evener::inference {

// Sinks take the predictions of a network, to tell, judge or write them: one sink for each purpose.

class PredictionSink {
 public:
  virtual ~PredictionSink() = default;
  /// Takes a prediction. Called in the order of the samples. Throws Error where it can't be written.
  virtual void take(const Prediction& prediction) = 0;
  /// Called after the last prediction: writes what is left. Throws Error where something could not be written.
  virtual void finish() {}
  /// Whether the sink prints each prediction; then no progress is shown, which would disturb that.
  virtual bool tells_each() const { return false; }
  /// What was found so far, for the progress: "3 boxes found"; "" = nothing worth telling.
  virtual std::string found_text() const { return ""; }
};

/// Gives each prediction to all of its sinks, in the order in which they were added.
class PredictionSinks {
 public:
  /// Makes and owns a sink of type Sink.
  template <class Sink, class... Arguments>
  Sink& add(Arguments&&... arguments) {
    auto sink = std::make_unique<Sink>(std::forward<Arguments>(arguments)...);
    Sink& added = *sink;
    sinks_.push_back(std::move(sink));
    return added;
  }

  void on_prediction(const Prediction& prediction) {
    times_s_.push_back(now_s() - begin_s_);
    for (const auto& sink : sinks_) sink->take(prediction);
  }
  void finish() {
    for (const auto& sink : sinks_) sink->finish();
  }

  const std::vector<std::unique_ptr<PredictionSink>>& sinks() const { return sinks_; }
  /// The time of each prediction, in seconds since this was made.
  const std::vector<double>& times_s() const { return times_s_; }

 private:
  std::vector<std::unique_ptr<PredictionSink>> sinks_;
  const double begin_s_ = now_s();
  std::vector<double> times_s_;
};

/// The samples of one show(), with the options of the inference and of the run.
struct Showing {
  const InferImages& images;
  InferOptions infer;
  measure::RunOptions run;
  std::vector<const OptionGroup*> groups;   // the command's options, for the record
  const std::vector<std::string>& classes;  // names of the predicted classes
  bool times_layers = false;                // --profile layers
  /// Makes the first line of progress. Called before the run begins, so that an exception leaves no folder behind.
  std::function<std::string(const InferSetup&)> setup_line;
  /// Runs the samples, and fills in the record of the run, which has begun.
  std::function<void(InferJob&, measure::MeteredRun&)> work;
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
  InferenceSession(const InferPlacementFlags& placement, const InferenceRequest& request);

  const placement::Plan& plan() const { return plan_; }
  Precision precision() const { return precision_; }
  /// The number of threads that read images.
  int threads() const { return threads_; }
  const InferenceModel& network() const { return network_; }

  /// Keeps the network compiled from one show() to the next, whose samples must have the same shape. A network that is
  /// divided into stages is compiled anew all the same.
  void stay_compiled() { stays_compiled_ = true; }
  /// Compiles the network for the samples, begins a run, tells `line` of it, and does Showing::work. Throws what
  /// MeteredRun::measure() throws.
  Shown show(const Showing& showing, measure::Observer& line);

 private:
  void begin(const Showing& showing, measure::MeteredRun& run, const InferSetup& setup, measure::Observer& line) const;

  const placement::Plan plan_;
  const Precision precision_;
  const int threads_;
  const InferenceModel network_;
  bool stays_compiled_ = false;
  std::optional<InferJob> job_;
};

/// Gives the predictions of all samples to the sinks and then finishes these. Shows progress, unless a sink prints each
/// prediction.
InferResult predict_all(InferJob& job, const data::Samples& samples, PredictionSinks& sinks, measure::Observer& line);

/// "20 images"; "frames until Ctrl-C" of a camera.
std::string count_text(const data::Samples& samples);
/// How many frames of a camera or a pipe were dropped, for a note; "" for none, and for other samples.
std::string dropped_note(const data::Samples& samples, std::size_t answered);
/// Throws Error where a camera or pipe failed: to be called once the record is written.
void require_no_failure(const data::Samples& samples);

/// The options of an inference, for samples that may be a camera's: then each is computed as soon as it comes.
InferOptions options_for(const data::Samples& samples, InferOptions options);

/// The shapes of the network's outputs for one sample, found by a call on zeros.
OutputShapes output_shapes(InferJob& job, const data::Samples& samples);

/// "3 images could not be read: a.jpg: ..."; tells nothing where `skipped` is empty. `what`: "image", `why_not`:
/// "read".
void tell_skipped(const std::vector<data::Skipped>& skipped, const char* what, const char* why_not,
                  measure::Observer& line);

/// Writes a confusion matrix as rows of true class, found class and count, without zeros. `counts`: [true][found]; a
/// class beyond `classes` is the background. `what`: the heading of the counts.
void write_confusion(const std::filesystem::path& path, const std::vector<std::vector<std::int64_t>>& counts,
                     const std::vector<std::string>& classes, const char* what);

// Writes the setup and the speed of an inference into its record.

/// "torch (by rule 1.6 times as fast as ...)": the engine of the first replica, and why.
std::string engine_text(const InferSetup& setup);

/// Sentences on the part of a divided network that each stage computes.
std::vector<std::string> stage_notes(const InferSetup& setup);

/// Fills in how busy each stage was; nothing where the network is not divided.
void fill_stage_uses(record::Record& record, const StageUses& uses);

/// Fills in the speed. `times_s`: when each prediction came, in seconds since the start.
void fill_inference_speeds(record::Record& record, const InferResult& result, const std::vector<double>& times_s,
                           const std::vector<double>& network_rates);

}  // namespace evener::inference
