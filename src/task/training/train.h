// Training: from a model, data and a placement to checkpoints and results. No argv, no printing: an observer is told.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "data/augment.h"
#include "data/open/open_data.h"
#include "engine/engine.h"
#include "network/network.h"
#include "network/passes/cut.h"
#include "network/passes/quantize.h"
#include "parallel/launcher.h"
#include "placement/plan.h"
#include "record/record.h"
#include "task/fine_tuning/linear_probe.h"
#include "task/inference/normalization.h"
#include "task/training/copied_files.h"
#include "task/training/schedule.h"
#include "task/training/step_blocks.h"

namespace evener::task {

/// Whether the last layer is fitted on the features of the network as it begins, before all layers are trained
/// (task/fine_tuning/linear_probe.h): never; where the weights' own doesn't fit the data; whenever there are weights.
enum class LinearProbing { kNever, kNew, kAlways };

struct TrainOptions {
  std::string model;
  data::DataOptions data;
  std::string engine = "auto";  // a name, or "auto": task/training/engine_choice.h
  /// Opens the engine of that name. Empty: engine::open_engine.
  std::function<std::unique_ptr<engine::Engine>(const std::string& name)> open_engine = {};
  engine::TrainerOptions trainer;  // mean and standard_deviation are filled in, see `normalization`; the criterion is
                                   // that for boxes where the data has boxes
  network::BoxLoss box_loss = network::BoxLoss::kSmoothL1;  // of that
  NormalizationRule normalization;
  std::filesystem::path weights;    // to start from, safetensors or PyTorch's; empty = drawn from the seed
  std::vector<std::string> freeze;  // patterns of names of parameters that are not trained
  LinearProbing linear_probing = LinearProbing::kNever;  // of a new run with `weights`: that is its first epoch
  /// How the network that is trained is quantised (quantisation-aware training); empty = not at all. Filled in from
  /// what `weights`, or the run that is gone on with, say of themselves.
  network::QuantizationScheme quantization;
  int quantize_bits =
      0;  // of the weights, where `weights` are not quantised yet and the network is to be; 0 = it isn't
  std::int64_t batch = 64;    // global, whatever the placement
  bool finds_batch = false;   // `batch` is to be decided, and not checked before
  int epochs = 10;            // 0: validate and test `weights`, train and save nothing
  int accumulate = 1;         // micro-batches that a batch is computed in, one after the other
  int patience = 0;           // epochs without a better validation after which training ends; 0 = never
  double until_accuracy = 0;  // validation accuracy in (0, 1] at which training ends; 0 = never
  double learning_rate = 0.05;
  double backbone_rate = 1;  // of all layers but the last, of a detector of its backbone, in shares of that
  Schedule schedule;
  int validate_every = 1;             // epochs; the last epoch is always validated
  std::optional<int> loader_threads;  // absent: the engine's usual number
  /// Where it computes; replica r's device, threads and CPUs replace those of `trainer`. Empty: as `trainer` says.
  placement::Plan plan;
  std::vector<placement::Plan> candidates;  // of which one may be taken instead: one engine has to serve them all
  // Where the plan's replicas have several stages:
  std::vector<std::string> cut;  // names of the layers that the second and later stages begin with; empty: balanced
  int micro_batches = 0;         // of each replica's share of a batch; 0 = as suits the network
  std::int64_t stage_memory_bytes = 0;  // that each device may take, for emulation; 0 = what there is
  parallel::PipelineSchedule pipeline_schedule = parallel::PipelineSchedule::k1F1B;
  bool data_on_device = false;     // devices other than the CPU keep all images in their memory
  bool local_batch_norm = false;   // statistics of each replica's samples alone, which changes what is learnt
  bool frozen_batch_norm = false;  // statistics of `weights`, which stay; of a detector those of its backbone
  bool always_exchange = false;    // gradients, also with one replica
  bool host_exchange = false;      // through host memory, also where GPUs could do it themselves
  comm::CommunicationDtype communication_dtype = comm::CommunicationDtype::kFloat32;  // in which they travel
  data::AugmentOptions augment;  // of the training images; those of validation and test stay as they are
  std::filesystem::path out;     // where checkpoints go; must exist. Empty: nothing is going to be run
  bool resume = false;           // go on from the checkpoint in `out`
  /// Of a new run with `weights` of another run: its images keep the parts that they had there
  /// (task/training/known_parts.h).
  bool inherits_parts = false;
  /// What decides the weights, by name: checkpoints keep it, and a resumed run has to have it in common with the run
  /// that it goes on with, besides what the job finds out itself (task/training/resume_config.h). Null: the caller
  /// names nothing.
  std::shared_ptr<const nlohmann::json> settings = nullptr;
};

/// A network divided over the stages of a plan's replicas.
struct Division {
  std::vector<network::NetworkStage> stages;  // empty: it is not divided
  int micro_batches = 1;                      // of each replica's share of a batch, where it is
};

/// What is known before the first step.
struct TrainSetup {
  explicit TrainSetup(network::Network described) : network(std::move(described)) {}

  network::Network network;
  Division division;
  data::ImageShape image;
  std::vector<std::string> classes;
  std::size_t images = 0, train_images = 0, val_images = 0, test_images = 0;
  std::vector<std::int64_t> train_counts, val_counts;  // images of each class; of a detector empty
  std::vector<data::Skipped> skipped;
  std::vector<std::string> notes;         // on what the run starts from, for people and the record
  std::string engine, engine_reason;      // the engine's name; why it was chosen, "" = asked for or nothing to say
  int loader_threads = 0;                 // of the rank that has most
  bool engine_reads_data = false;         // from memory: loaders only say which samples a batch has
  data::ChannelStatistics normalization;  // that is used
  std::string normalized_by;              // where it is from: "data", "weights", "given" or "checkpoint"
  std::int64_t steps_per_epoch = 0;
  int epochs = 0;     // of the whole run
  double load_s = 0;  // that the data took
  /// What fitting a new last layer came to, of a run that begins so; its first epoch then is no other training.
  std::optional<LinearProbe> linear_probe;
  bool begins_with_head = false;  // the same, also of a run that is gone on with
  int resumed_epoch = 0;          // epochs that the checkpoint already had; 0 = from the start
  std::int64_t resumed_step = 0;  // and steps of the next one
};

/// Of a detector, among the figures of an epoch that was the best so far: the share of validation images that it
/// answers as it does blank ones (task/detect/blank_images.h).
inline constexpr const char* kFoundInBlank = "val_found_in_blank";

struct StepProgress {
  int epoch = 0;          // from 1
  std::int64_t step = 0;  // done in this epoch
  std::int64_t steps_per_epoch = 0;
  std::int64_t images = 0;   // of this epoch so far, in this run
  double epoch_seconds = 0;  // of training, in this run
  double step_seconds = 0;
  double loss = 0;  // running means of the epoch
  std::optional<double> accuracy, box_loss, class_loss;
};

/// Work on all images before the first step.
enum class LoadingStep { kDecode, kStatistics };

/// Is told what happens, on the training thread.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  /// Often, and before on_setup.
  virtual void on_loading(LoadingStep, std::size_t /*images_done*/, std::size_t /*images*/) {}
  /// `options` have what was decided.
  virtual void on_setup(const TrainSetup& /*setup*/, const TrainOptions& /*options*/) {}
  virtual void on_step(const StepProgress&) {}
  virtual void on_epoch(const record::EpochRecord&) {}
  /// A checkpoint is about to be written.
  virtual void on_checkpoint() {}
  virtual void on_note(const std::string&) {}
};

struct TrainResult {
  record::Status status = record::Status::kDone;
  bool is_detector = false;                        // it has `figures` in place of accuracies
  std::string status_reason;                       // where it stopped, and what to do
  std::vector<std::string> notes;                  // what happened on the way, for the record
  std::string end_note;                            // why training ended before the last epoch, or what was not reached
  std::vector<record::EpochRecord> epochs;         // all, those before a resume included
  int best_epoch = 0;                              // 0 = never validated
  std::optional<double> val_loss, val_accuracy;    // of `weights` when nothing was trained
  std::optional<double> test_loss, test_accuracy;  // with the best weights
  std::map<std::string, double> figures;           // of a detector, of the same: "test_map_50", ...
  record::ConfusionRecord confusion;               // of the test, of the best validation where there is none
  CopySearch copies;                               // of a classifier's images, where all are in memory
  StepBlocks first_epoch, later_epochs;            // of this run; the first one without its first ten steps
  /// What each replica did in training, by rank.
  struct ReplicaWork {
    std::int64_t samples = 0;
    double busy_s = 0;  // reading, forward, backward; without waiting for others
  };
  std::vector<ReplicaWork> replicas;
  std::vector<engine::DeviceReport> devices;          // by rank; notes of rank 0's alone
  std::vector<parallel::StageWork> stages;            // by rank; empty where replicas have one stage
  std::optional<parallel::PipelineFigures> pipeline;  // of these
  std::vector<std::pair<std::int64_t, std::vector<std::int64_t>>>
      shares;           // step of the run, samples of each from there
  record::Times times;  // without its total
};

/// Data, network, first weights or checkpoint, and engine of a training. What replicas as processes share is loaded
/// here, before they are forked. What its options leave open is decided on it, by trials (task/training/trial.h) or
/// otherwise.
class PreparedTraining {
 public:
  /// Throws Error or UsageError before any work when the data, model, memory or checkpoint don't allow it. The observer
  /// is told of the loading; it must outlive the training.
  PreparedTraining(TrainOptions options, TrainObserver& observer);
  PreparedTraining(PreparedTraining&& other) noexcept;
  ~PreparedTraining();

  /// With what was taken so far.
  const TrainOptions& options() const;
  void take_plan(placement::Plan plan);
  /// Throws as the constructor does where it can't be.
  void take_batch(std::int64_t batch);
  /// Of a new run.
  void take_epochs(int epochs);

  struct State;  // task/training/job.h
  State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// Tells the observer what a new training with these options would be, with its setup and notes, and decodes no image.
/// What can be checked so is checked; throws as PreparedTraining and TrainJob do.
void look_at(TrainOptions options, TrainObserver& observer);

/// A training for which all is decided.
class TrainJob {
 public:
  /// Throws Error or UsageError where it can't be run so. The observer that `training` was made with is told of the
  /// setup, and by run() of the rest.
  explicit TrainJob(PreparedTraining training);

  /// Training has to be over by then, validation and test included (now_s()); to be called before run(). Epochs that
  /// would take longer are not begun, and one that does is cut short.
  void end_by(double at_s);

  /// One rank's part of the run: trains as the options say, or evaluates when they say 0 epochs. Rank 0 tells the
  /// observer, writes checkpoints, and returns the result; the others' results are empty. Ctrl-C (base/stop.h) saves a
  /// checkpoint and ends with kInterrupted; a loss of training, validation or test, or weights, that are not finite
  /// end with kDiverged and leave the last good checkpoint. Where nothing is trained, a note tells of such a loss.
  TrainResult run(const parallel::RankContext& context);

  /// Memory that the replicas' engines want to have in common (parallel::LaunchOptions); 0 where gradients are
  /// exchanged.
  std::size_t shared_bytes() const;

  /// Where the run computes: the plan that was given, or decided on, without the replicas that were left out.
  const placement::Plan& plan() const;
  /// The run goes on without a replica that was lost for good.
  void leave_out(int rank);

  /// Whether the checkpoint that is gone on with has all epochs already, or those that --until-accuracy and --patience
  /// leave of them.
  bool is_complete() const;

  /// What all hosts of a run have to agree on: data, network, options, start.
  std::vector<parallel::Fact> facts() const;

  /// After a rank was lost: the run goes on from the checkpoint in `out`, or from the start where there is none yet.
  void rewind();

 private:
  PreparedTraining training_;
};

}  // namespace evener::task
