// `evener infer`: runs images through a trained network, tells the predictions, their accuracy where classes are known,
// and the speed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/this_work.h"
#include "data/skipped.h"
#include "infer/options.h"
#include "infer/run/infer.h"
#include "infer/scenarios/run_scenario.h"
#include "infer/session/images.h"
#include "infer/session/session.h"
#include "infer/sinks.h"
#include "measure/run/metered_run.h"
#include "measure/run/observer.h"
#include "options/measured_command.h"
#include "options/run_flags.h"
#include "record/record.h"

namespace evener::inference {

// Waits for new photos in folders (--watch).

class PhotoWatch {
 public:
  /// Remembers the photos that are in `locations` (as data::Pictures takes them) now: they don't count as new. The
  /// locations may be empty or not exist yet.
  explicit PhotoWatch(std::vector<std::string> locations);

  /// How many photos there were at the beginning.
  std::size_t at_first() const { return at_first_; }

  /// Waits for files that are new or have changed, and then have stayed the same for a second, so that they are no
  /// longer being copied. Videos are passed over: each new one is told once. Returns an empty list after a stop
  /// request.
  std::vector<std::string> wait(const std::function<void(const std::string& video)>& tell_video);

 private:
  /// Size and modification time, which change while a file is written.
  using State = std::pair<std::uintmax_t, std::filesystem::file_time_type>;

  std::vector<std::string> locations_;
  std::size_t at_first_ = 0;
  std::map<std::string, State> known_;
  std::map<std::string, State> growing_;  // files that may still be incomplete
  std::set<std::string> videos_;          // that were told
};

struct InferCommandFlags : InferFlags {
  struct Measuring : ProfileFlags {
    Option<std::optional<double>> seconds{
        *this, "--seconds SECONDS", within(zero_or_more()).not_recorded(),
        "How long the network alone is measured, 0 = not (default: a tenth of the run, at most 2)"};
    Option<std::string> trace{*this, "--trace FILE", rules().not_recorded(), "Write the phases as a Chrome trace"};
    Option<int> sample_interval_ms{*this, "--sample-interval MILLISECONDS", 500, rules().not_recorded(),
                                   "Between samples of CPU and memory"};
  };
  Measuring measuring;
  EnergyFlags energy;
  ScenarioFlags scenario;

  OptionSet options();
};

struct InferenceRun {
  record::Record record = {};
  bool scores_are_logits = false;  // the scores of mistakes are logits, otherwise probabilities
  Scores scores = {};              // where classes are known
  UnknownCount unknown = {};
  std::string seen;                        // see InferImages::seen
  std::filesystem::path folder = {};       // empty: none was asked for
  std::size_t answered = 0;                // images
  double seconds = 0;                      // how long the predictions took
  std::vector<data::Skipped> unread = {};  // images that could not be read
  std::optional<PhotoSorter> sorted = {};  // the result of --sort; absent without it
  bool was_stopped = false;                // a scenario was stopped before its end
};

/// What came of an inference, for people: accuracy, classes, mistakes, unknown images, sorted photos.
std::string inference_text(const InferenceRun& run);

/// See complete(InferModelFlags&, Observer*).
void complete(InferCommandFlags& flags, measure::Observer* observer);

/// A trained network that is opened once and run on images, with --watch several times.
class Inference {
 public:
  /// Opens the network. `flags` must be completed, and are read again by each run(). Throws UsageError and Error.
  explicit Inference(const InferCommandFlags& flags);

  /// Throws UsageError where the network has no weights, as its predictions on photos would mean nothing.
  void require_meaning() const;
  /// Keeps the network compiled from one run to the next.
  void stay_compiled() { session_.stay_compiled(); }
  /// As infer().
  InferenceRun run(measure::Observer& observer, const StopFlag* stop = nullptr);

 private:
  void predict(InferJob& job, const InferImages& images, measure::MeteredRun& metered, measure::Observer& line,
               InferenceRun& run) const;
  /// Whether the scenario was stopped before its end.
  bool measure(InferJob& job, const InferImages& images, measure::MeteredRun& metered, measure::Observer& line) const;
  void tell_end(const InferenceRun& run, measure::Observer& line) const;

  const InferCommandFlags& flags_;
  InferenceSession session_;
};

/// Runs the images, or measures a scenario; tells the predictions to `observer` in the format of --format, and writes
/// the files of the run. `flags` must be completed. `stop`: ends it in good order, as a signal does; null: signals
/// alone. Throws UsageError, Error and Interrupted.
InferenceRun infer(const InferCommandFlags& flags, measure::Observer& observer, const StopFlag* stop = nullptr);

/// The request for the network; the options of the inference on `plan`, with `threads` threads that read images; and
/// those of the run, which reads the file `weights`. All throw UsageError.
InferenceRequest inference_request(const InferCommandFlags& flags);
InferOptions infer_options(const InferCommandFlags& flags, const placement::Plan& plan, Precision precision,
                           int threads);
measure::RunOptions run_options(const InferCommandFlags& flags, const placement::Plan& plan,
                                const std::filesystem::path& weights);

/// Adds the accuracy and the top-5 accuracy on labelled images, of which there must be at least one. Networks with five
/// classes or fewer get no top-5 accuracy.
void add_accuracies(record::Record& record, const Scores& scores);

/// Fills in what came out of `part` of the data. `network_rates`: images per second of the network alone, in blocks of
/// calls.
void fill_inference_results(record::Record& record, const std::string& part, const InferResult& result,
                            const InferSinks& sinks, const std::vector<double>& network_rates);

/// The result of a scenario in sentences.
std::string scenario_text(const record::Record& record);

/// `evener infer` as a sweep runs it.
MeasuredCommand measured_infer();

}  // namespace evener::inference
