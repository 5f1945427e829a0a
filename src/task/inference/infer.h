// Samples through a network: read and prepared, collected into batches, computed by whoever is free, answered in order.
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
#include "network/passes/cut.h"
#include "parallel/flow.h"
#include "parallel/stage_line.h"
#include "placement/plan.h"
#include "task/inference/inference_model.h"

namespace evener::task {

struct InferOptions {
  placement::Plan plan;
  std::string engine = "auto";
  Precision precision = Precision::kFp32;
  std::optional<std::int64_t> batch = {};  // images of each call; absent = chosen
  std::optional<int> streams = {};         // calls that each replica computes side by side; absent = chosen
  int reading_threads = 1;
  std::filesystem::path cache = {};  // folder for compiled networks; empty = they are not kept
  bool strict = false;               // a sample that can't be read is an error
  bool tries_engines = true;         // "auto" may compute for a moment to find the faster engine
  bool repeated = false;             // samples are shown again and again: how few they are bounds nothing
  bool suits_few = false;  // calls of fewer samples than a batch cost less: runners of smaller batches are made
  std::vector<std::string> cut = {};    // layers that the second and later stages begin with; empty = chosen
  std::int64_t stage_memory_bytes = 0;  // that each device is taken to have; 0 = as much as is needed
  /// Opens the engine of a name. Empty: engine::open_engine.
  std::function<std::unique_ptr<engine::Engine>(const std::string& name)> open_engine = {};
};

/// What a stage of a network that is divided was given.
struct StageSetup {
  std::string first, last;  // of its layers
  double operations = 0;    // a share of all
  std::int64_t parameters = 0;
  std::int64_t sent_bytes = 0;    // to the next stage, of each sample
  std::int64_t memory_bytes = 0;  // that it takes, predicted: weights, and the values of the calls that it computes
};

/// How a network computes one sample set.
struct InferSetup {
  std::vector<std::string> engines;  // of each replica
  std::vector<std::string> reasons;  // why, in a few words
  std::int64_t batch = 1;
  int streams = 1;                           // of each CPU replica
  std::vector<std::string> fallbacks = {};   // what is done otherwise than asked for, each with its reason
  std::map<std::string, int> executed;       // Runner::executed of the first replica
  std::vector<std::string> call_notes = {};  // Runner::note of all
  double init_s = 0;                         // until the first prediction could be given
  std::vector<StageSetup> stages = {};       // empty: the network is not divided
};

/// What a stage did in a stretch of time.
struct StageUse {
  double busy_share = 0;  // of the time of all of its runners
  std::int64_t calls = 0;
  double call_s = 0;  // that one takes, a mean
};

/// The outputs for one sample, by their names; valid during the call.
struct Prediction {
  std::size_t index = 0;  // of the sample
  std::map<std::string, std::span<const float>> outputs;
};

class InferObserver {
 public:
  virtual ~InferObserver() = default;
  /// In the order of the samples; those that can't be read are missing. Called from run()'s thread.
  virtual void on_prediction(const Prediction& prediction) = 0;
};

/// Of each replica, of each of its stages.
using StageUses = std::vector<std::vector<StageUse>>;

struct InferResult {
  std::size_t answered = 0;
  double seconds = 0;              // from the first sample read to the last prediction
  std::size_t images_at_once = 1;  // in calls that run side by side
  parallel::FlowReport flow;
  std::vector<data::Skipped> skipped;  // samples that could not be read
  StageUses stages = {};               // empty: the network is not divided
};

/// The values of one sample or of a batch, of which one vector is empty.
struct SampleValues {
  std::vector<std::uint8_t> bytes;
  std::vector<float> floats;
};

/// What a call went into.
struct CallTimes {
  double gather_s = 0;  // making one array of the samples
  double compute_s = 0;
};

/// A network compiled for a placement. The samples' shape is known by then.
class InferJob {
 public:
  /// `samples`: those that will be run, or others of their shape and kind; how many they are bounds batch and
  /// streams. Throws
  /// UsageError where the placement or engine can't, Error where shapes don't fit.
  InferJob(const InferenceModel& model, const data::Samples& samples, InferOptions options);
  ~InferJob();

  const InferSetup& setup() const { return setup_; }

  /// Throws as Flow::run does: Interrupted after a stop request, when the predictions so far have been given.
  InferResult run(const data::Samples& samples, InferObserver& observer);

  /// Runners that can be driven side by side, a thread each; of calls of setup().batch samples.
  std::size_t lanes() const { return lanes_.size(); }
  engine::Runner& lane(std::size_t index) { return *lanes_[index]; }
  /// The outputs for samples, setup().batch at most, computed on a lane; their first extent may be larger than that.
  TensorMap call(std::size_t lane, const std::vector<const SampleValues*>& samples, CallTimes* times = nullptr);

  /// What stages did since the last call of watch_stages(); empty where the network is not divided.
  void watch_stages();
  StageUses stage_uses() const;

  /// Images per second of the network alone: calls with `samples`' first ones from memory on all lanes, for about so
  /// many seconds. The median of blocks of calls.
  std::vector<double> network_rates(const data::Samples& samples, double seconds);

 private:
  class Batch;

  void choose_engines();
  void choose_batch(const data::Samples& samples);
  /// Asks for every GPU of the plan before anything computes: a library may open its part for GPUs then, and finds none
  /// where it has computed on a CPU before it did. Throws UsageError.
  void require_devices(const data::Samples& samples) const;
  void make_lanes(const data::Samples& samples);
  /// Of whole batches and smaller ones, on a replica.
  void make_lanes_of(const placement::PlanReplica& replica, engine::Engine& engine, const data::Samples& samples);
  std::vector<std::unique_ptr<engine::Runner>> make_runners(const placement::PlanStage& stage, engine::Engine& engine,
                                                            const data::Samples& samples, std::int64_t batch) const;
  engine::RunnerOptions runner_options(const placement::PlanStage& stage, const data::Samples& samples,
                                       std::int64_t batch) const;
  /// Batches that runners are made for beside the whole one: the powers of two below it, where calls of few samples
  /// are to be cheap.
  std::vector<std::int64_t> smaller_batches() const;
  /// Where the user names no engine: whether LibTorch's runners, with Winograd's convolutions, could outdo OpenVINO's.
  bool may_gain_by_torch() const;
  /// Takes them on all CPUs if a trial on the first replica shows it.
  void try_torch(const data::Samples& samples);
  /// A batch for calls whose predictions nobody reads.
  SampleValues zeros_for(const data::Samples& samples, std::int64_t batch) const;
  void warm_up(const data::Samples& samples);

  const InferenceModel& model_;
  const InferOptions options_;
  InferSetup setup_;
  std::map<std::string, std::unique_ptr<engine::Engine>> engines_;
  std::vector<std::unique_ptr<engine::Runner>> lanes_;
  /// Of each lane the runners of smaller batches, by those. A lane computes with one of its runners at a time.
  std::vector<std::map<std::int64_t, std::unique_ptr<engine::Runner>>> smaller_;
  std::vector<network::NetworkStage> division_;                  // empty: the network is not divided
  std::vector<std::shared_ptr<parallel::StageLine>> lines_;      // of whole batches, by replica
  std::vector<std::vector<parallel::StageLine::Work>> watched_;  // what they had done when they began to be watched
  double watched_from_s_ = 0;
  std::int64_t shown_ = 0;      // samples that there are to run
  std::vector<double> call_s_;  // what a call takes on each lane, roughly
};

/// Throws Error with the reason alone where the sample can't be read.
SampleValues read_values(const data::Samples& samples, std::size_t index);
/// Several samples' values one after the other; what is missing of a batch is zeros.
SampleValues gathered(const std::vector<const SampleValues*>& samples, std::int64_t batch);
/// Begins a call with a batch.
void start(engine::Runner& runner, const SampleValues& values);

/// A class and how likely it is (or its raw score).
struct ClassScore {
  std::size_t index = 0;
  float score = 0;
};

/// The `count` classes of the highest scores, the highest first; of equal ones the first. Probabilities are the softmax
/// of the scores, unless these are probabilities already (kAuto: where all lie from 0 to 1 and their sum is 1 within a
/// hundredth, or where all are multiples of 1/256, as a softmax in bytes is).
std::vector<ClassScore> top_classes(std::span<const float> scores, std::size_t count, OutputType type);

}  // namespace evener::task
