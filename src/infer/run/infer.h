// Runs samples through a network: they are read and prepared, collected into batches, computed by any lane that is
// free, and answered in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/open/samples.h"
#include "engine/engine.h"
#include "engine/runner.h"
#include "infer/model/inference_model.h"
#include "infer/run/runner_choice.h"
#include "network/passes/cut.h"
#include "parallel/flow.h"
#include "parallel/stage_line.h"
#include "placement/plan.h"

namespace evener::inference {

/// Images that nobody counts: enough for whatever pays only with many.
inline constexpr std::int64_t kManyImages = std::int64_t{1} << 40;

struct InferOptions {
  placement::Plan plan;
  std::string engine = "auto";
  Precision precision = Precision::kFp32;
  std::optional<std::int64_t> batch = {};  // images of each call; absent = chosen
  std::optional<int> streams = {};         // calls that each replica computes side by side; absent = chosen
  int reading_threads = 1;
  std::filesystem::path cache = {};  // folder for compiled networks; empty = they are not kept
  bool strict = false;               // a sample that can't be read is an error instead of being skipped
  bool usual_engine = false;         // "auto" is the same engine for all networks, not the faster one for this network
  bool repeated = false;             // samples are shown again and again, so that their number doesn't bound batch and
                                     // streams
  std::optional<std::int64_t> coming = {};  // images that will be computed, for "auto"; absent = as many as there are
                                            // samples, or many where these are repeated
  bool suits_few = false;               // also make runners for smaller batches, so that calls of few samples cost less
  std::vector<std::string> cut = {};    // layers that the second and later stages begin with; empty = chosen
  std::int64_t stage_memory_bytes = 0;  // emulated memory of each device; 0 = as much as is needed
  /// Opens the engine of a name. Empty: engine::open_engine.
  std::function<std::unique_ptr<engine::Engine>(const std::string& name)> open_engine = {};
};

/// The part of a divided network that a stage computes.
struct StageSetup {
  std::string first, last;  // of its layers
  double operations = 0;    // as a share of all stages'
  std::int64_t parameters = 0;
  std::int64_t sent_bytes = 0;    // to the next stage, for each sample
  std::int64_t memory_bytes = 0;  // predicted: the weights, and the values of the calls that are computed side by side
};

/// How a network was set up for its samples.
struct InferSetup {
  std::vector<std::string> engines;  // of each replica
  std::vector<std::string> reasons;  // why, in a few words
  std::int64_t batch = 1;
  int streams = 1;                           // of each CPU replica
  std::vector<std::string> fallbacks = {};   // what is done in another way than was asked for, each with its reason
  std::map<std::string, int> executed;       // Runner::executed of the first replica
  std::vector<std::string> call_notes = {};  // Runner::note of all
  double init_s = 0;                         // seconds until the job was ready for the first prediction
  std::vector<StageSetup> stages = {};       // empty: the network is not divided
};

/// How busy a stage was.
struct StageUse {
  double busy_share = 0;  // the share of time in which its runners computed, over all of them
  std::int64_t calls = 0;
  double call_s = 0;  // the mean time of a call
};

/// The outputs for one sample, by their names; valid during the call.
struct Prediction {
  std::size_t index = 0;  // of the sample
  std::map<std::string, std::span<const float>> outputs;
};

/// Called in the order of the samples, without those that can't be read, on the thread of run().
using OnPrediction = std::function<void(const Prediction& prediction)>;

/// [replica][stage].
using StageUses = std::vector<std::vector<StageUse>>;

struct InferResult {
  std::size_t answered = 0;
  double seconds = 0;              // from the first sample read to the last prediction
  std::size_t images_at_once = 1;  // images of all calls that run side by side
  parallel::FlowReport flow;
  std::vector<data::Skipped> skipped;  // samples that could not be read
  StageUses stages = {};               // empty: the network is not divided
  bool was_stopped = false;            // samples of a camera or a pipe, until a stop was requested
};

/// The values of one sample or of a batch, as bytes or as floats; the other vector is empty.
struct SampleValues {
  std::vector<std::uint8_t> bytes;
  std::vector<float> floats;
};

/// The parts of a call's time.
struct CallTimes {
  double gather_s = 0;  // copying the samples into one array
  double compute_s = 0;
};

/// A network compiled for a placement and for samples of one shape.
class InferJob {
 public:
  /// `samples`: those that will be run, or others of the same shape and kind; their number bounds batch and streams.
  /// Throws UsageError where the placement or engine can't run the network, Error where shapes don't fit.
  InferJob(const InferenceModel& model, const data::Samples& samples, InferOptions options);

  const InferSetup& setup() const { return setup_; }

  /// Runs all samples and gives their predictions to `on_prediction`. Throws as Flow::run does: after a stop request,
  /// Interrupted, once the predictions so far were given; of a camera that is the usual end, and nothing is thrown.
  InferResult run(const data::Samples& samples, const OnPrediction& on_prediction);

  /// The number of runners that can be called at the same time, each by one thread, with calls of setup().batch
  /// samples.
  std::size_t lanes() const { return lanes_.size(); }
  engine::Runner& lane(std::size_t index) { return *lanes_[index]; }
  /// Computes the outputs for at most setup().batch samples on a lane; the first extent of the outputs may be larger
  /// than the number of samples.
  TensorMap call(std::size_t lane, const std::vector<const SampleValues*>& samples, CallTimes* times = nullptr);
  /// Waits for a call that was started on a lane's runner; its outputs as the answers of the model.
  TensorMap wait(engine::Runner& runner) const { return model_.answers(runner.wait()); }

  /// How busy each stage was since the last call of watch_stages(); empty where the network is not divided.
  void watch_stages();
  StageUses stage_uses() const;

  /// Measures the network alone for about `seconds`: calls with the first samples, from memory, on all lanes. Returns
  /// images per second, one value for each block of calls.
  std::vector<double> network_rates(const data::Samples& samples, double seconds);

 private:
  void choose_engines();
  RunnerChoice engine_for(const placement::PlanStage& stage) const;
  void choose_batch(const data::Samples& samples);
  /// Asks for every GPU of the plan before anything computes: a library may open its part for GPUs then, and finds none
  /// where it has computed on a CPU before it did. Throws UsageError.
  void require_devices(const data::Samples& samples) const;
  void make_lanes(const data::Samples& samples);
  /// Makes the lanes of one replica, for whole batches and smaller ones.
  void make_lanes_of(const placement::PlanReplica& replica, engine::Engine& engine, const data::Samples& samples);
  engine::RunnerOptions runner_options(const placement::PlanStage& stage, const data::Samples& samples,
                                       std::int64_t batch) const;
  /// The smaller batches for which runners are made (InferOptions::suits_few): the powers of two below the batch.
  std::vector<std::int64_t> smaller_batches() const;
  void warm_up(const data::Samples& samples);

  const InferenceModel& model_;
  const InferOptions options_;
  InferSetup setup_;
  std::map<std::string, std::unique_ptr<engine::Engine>> engines_;
  std::vector<std::unique_ptr<engine::Runner>> lanes_;
  /// The runners for smaller batches of each lane, by the batch. A lane computes with one of its runners at a time.
  std::vector<std::map<std::int64_t, std::unique_ptr<engine::Runner>>> smaller_;
  std::vector<network::NetworkStage> division_;                  // empty: the network is not divided
  std::vector<std::shared_ptr<parallel::StageLine>> lines_;      // the pipelines of stages, for whole batches, by
                                                                 // replica
  std::vector<std::vector<parallel::StageLine::Work>> watched_;  // their work so far at the last watch_stages()
  double watched_from_s_ = 0;
  std::int64_t shown_ = 0;      // how many samples there are to run
  std::vector<double> call_s_;  // rough time of a call on each lane
};

/// Throws Error with the reason alone where the sample can't be read.
SampleValues read_values(const data::Samples& samples, std::size_t index);
/// The values of several samples one after the other, filled up with zeros to `batch` samples.
SampleValues gathered(const std::vector<const SampleValues*>& samples, std::int64_t batch);
/// A batch of samples all of whose values are `value`, a share of the largest: for calls whose outputs nobody reads.
SampleValues values_like(const data::Samples& samples, std::int64_t batch, float value);
/// Begins a call with a batch.
void start(engine::Runner& runner, const SampleValues& values);
void start(engine::Runner& runner, SampleValues&& values) = delete;  // the runner may read them until it was waited for

/// The options of a stage's runners for such samples.
engine::RunnerOptions options_for_stage(const placement::PlanStage& stage, const data::Samples& samples,
                                        Precision precision, std::int64_t batch);

using Runners = std::vector<std::unique_ptr<engine::Runner>>;

/// Calls per second of `runners` together, each called without a pause by a thread of its own with `batch`, for about
/// `seconds`: as rates_between() has them. No runner waits for another, as none does when they answer samples.
std::vector<double> call_rates(const Runners& runners, const SampleValues& batch, double seconds, int blocks);

/// Calls per second from the times at which the calls of each runner ended, in seconds since the first began: one value
/// for each of at most `blocks` stretches of equal length, in each of which every runner ends a call or more. Of a call
/// that ends in the next stretch the part that lies in this one counts. The time until each runner has ended a call, in
/// which a pipeline fills, counts only where a runner ended no second one.
std::vector<double> rates_between(const std::vector<std::vector<double>>& ends_s, int blocks);

}  // namespace evener::inference
