// Images shown to a trained network: what it says of each, how well where that is known, and how fast.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/this_work.h"
#include "data/skipped.h"
#include "job/infer/infer_flags.h"
#include "job/infer/infer_sinks.h"
#include "job/infer/scenario_flags.h"
#include "job/inference/session.h"
#include "job/observer.h"
#include "job/options/energy_flags.h"
#include "job/options/measuring_flags.h"
#include "record/record.h"
#include "run/metered_run.h"

namespace evener::job {

struct InferCommandFlags : InferFlags {
  struct Measuring : ProfileFlags {
    Option<std::optional<double>> seconds{
        *this,
        {"--seconds", "SECONDS",
         "How long the network alone is measured, 0 = not (default: a tenth of the run, at most 2)"},
        {},
        {.range = zero_or_more(), .recorded = false}};
    Option<std::string> trace{
        *this, {"--trace", "FILE", "Write the phases as a Chrome trace"}, "", {.recorded = false}};
    Option<int> sample_interval_ms{
        *this, {"--sample-interval", "MILLISECONDS", "Between samples of CPU and memory"}, 500, {.recorded = false}};
  };
  Measuring measuring;
  EnergyFlags energy;
  ScenarioFlags scenario;

  OptionSet options();
};

struct InferenceRun {
  record::Record record = {};
  bool scores_are_logits = false;          // of a mistake; otherwise probabilities
  Scores scores = {};                      // where classes are known
  std::string seen;                        // of each picture; see InferImages
  std::filesystem::path folder = {};       // empty: none was asked for
  std::size_t answered = 0;                // images
  double seconds = 0;                      // that answering took
  std::vector<data::Skipped> unread = {};  // images that could not be read
  std::optional<PhotoSorter> sorted = {};  // photos, where that was asked for
  bool was_stopped = false;                // a scenario before its end
};

/// Gives values to options that were not given, from the file beside the network's. Throws UsageError.
void complete(InferCommandFlags& flags);

/// A trained network, opened once, that images are shown to; again and again where photos come to folders.
class Inference {
 public:
  /// Opens the network. Options have been completed; `flags` are looked at with each run, too. Throws UsageError and
  /// Error.
  explicit Inference(const InferCommandFlags& flags);

  /// For photos that are still to come. Throws UsageError where the network has no weights.
  void require_meaning() const;
  /// The network stays compiled for the next run.
  void stay_compiled() { session_.stay_compiled(); }
  /// As infer().
  InferenceRun run(Observer& observer, const StopFlag* stop = nullptr);

 private:
  void predict(task::InferJob& job, const InferImages& images, run::MeteredRun& metered, Observer& line,
               InferenceRun& run) const;
  /// Whether the scenario was stopped before its end.
  bool measure(task::InferJob& job, const InferImages& images, run::MeteredRun& metered, Observer& line) const;
  void tell_end(const InferenceRun& run, Observer& line) const;

  const InferCommandFlags& flags_;
  InferenceSession session_;
};

/// Answers, or measures a scenario; tells the predictions to `observer` in the format that was asked for, and writes
/// the files of the run. Options have been completed. `stop`: ends it in good order, as a signal does; null: signals
/// alone. Throws UsageError, Error and Interrupted.
InferenceRun infer(const InferCommandFlags& flags, Observer& observer, const StopFlag* stop = nullptr);

/// What the options say of the network, of how it computes on a plan with so many threads that read images, and of the
/// run around it, which reads the file `weights`. Throw UsageError.
task::InferenceRequest inference_request(const InferCommandFlags& flags);
task::InferOptions infer_options(const InferCommandFlags& flags, const placement::Plan& plan, Precision precision,
                                 int threads);
run::RunOptions run_options(const InferCommandFlags& flags, const placement::Plan& plan,
                            const std::filesystem::path& weights);

}  // namespace evener::job
