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
#include "data/open/drop_list.h"
#include "data/open/open_data.h"
#include "engine/engine.h"
#include "infer/model/normalization.h"
#include "network/network.h"
#include "network/passes/cut.h"
#include "network/passes/quantize.h"
#include "parallel/launcher.h"
#include "placement/plan.h"
#include "record/record.h"
#include "train/steps/known_parts.h"
#include "train/steps/linear_probe.h"
#include "train/steps/schedule.h"
#include "train/steps/step_times.h"

namespace evener::training {

/// Whether the last layer is fitted on the features of the network as it begins, before all layers are trained
/// (train/steps/linear_probe.h): never; where the weights' own doesn't fit the data; whenever there are weights.
enum class LinearProbing { kNever, kNew, kAlways };

struct TrainOptions {
  std::string model;
  data::DataOptions data;
  std::optional<data::DropList> drop;  // images that are left out of training and validation; absent = none
  std::string engine = "auto";         // a name, or "auto": choose_engine in train/steps/job.h
  /// Opens the engine of this name. Empty: engine::open_engine.
  std::function<std::unique_ptr<engine::Engine>(const std::string& name)> open_engine = {};
  engine::TrainerOptions trainer;  // mean and standard_deviation are filled in, see `normalization`; the criterion is
                                   // that for boxes where the data has boxes
  network::BoxLoss box_loss = network::BoxLoss::kSmoothL1;  // the loss for box offsets, in the criterion for boxes
  inference::NormalizationRule normalization;
  std::filesystem::path weights;    // to start from, safetensors or PyTorch's; empty = random ones, drawn with the seed
  std::vector<std::string> freeze;  // patterns of names of parameters that are not trained
  LinearProbing linear_probing = LinearProbing::kNever;  // of a new run with `weights`; it counts as the first epoch
  /// How the network is quantised in training (quantisation-aware training); empty = not at all. Filled in from the
  /// metadata of `weights` or of the run that is resumed.
  network::QuantizationScheme quantization;
  int quantize_bits = 0;      // of the weights, to quantise a network whose `weights` are not quantised yet; 0 = don't
  std::int64_t batch = 64;    // global, whatever the placement
  bool finds_batch = false;   // `batch` is found by trying, and not checked before
  int epochs = 10;            // 0: validate and test `weights`, train and save nothing
  int accumulate = 1;         // micro-batches that a batch is computed in, one after the other
  int patience = 0;           // epochs without a new best one after which training ends; 0 = never
  double until_accuracy = 0;  // validation accuracy in (0, 1] at which training ends; 0 = never
  double learning_rate = 0.05;
  double backbone_rate = 1;  // as a share of learning_rate: the rate of a classifier's layers but the last, or of a
                             // detector's backbone
  Schedule schedule;
  int validate_every = 1;             // epochs; the last epoch is always validated
  std::optional<int> loader_threads;  // absent: the engine's usual number
  /// Where the training computes: each replica's device, threads and CPUs replace those of `trainer`. Empty: as
  /// `trainer` says.
  placement::Plan plan;
  std::vector<placement::Plan> candidates;  // plans of which one may be taken instead; the engine that is chosen has to
                                            // serve them all
  // Where the plan's replicas have several stages:
  std::vector<std::string> cut;  // names of the layers that the second and later stages begin with; empty: balanced
  int micro_batches = 0;         // of each replica's share of a batch; 0 = as suits the network
  std::int64_t stage_memory_bytes = 0;  // memory limit of each device, to emulate a smaller one; 0 = the memory that it
                                        // has
  parallel::PipelineSchedule pipeline_schedule = parallel::PipelineSchedule::k1F1B;
  bool data_on_device = false;     // devices other than the CPU keep all images in their memory
  bool local_batch_norm = false;   // statistics of each replica's own samples, not of the whole batch, which changes
                                   // what is learnt
  bool frozen_batch_norm = false;  // the running statistics of `weights` stay and are used; of a detector only those of
                                   // its backbone
  bool always_exchange = false;    // exchange gradients also with one replica, for measuring
  bool host_exchange = false;      // exchange gradients through host memory, also where GPUs could use NCCL
  comm::CommunicationDtype communication_dtype = comm::CommunicationDtype::kFloat32;  // in which they travel
  data::AugmentOptions augment;  // of the training images; those of validation and test stay as they are
  std::filesystem::path out;     // where checkpoints go; must exist. Empty: the training is only looked at
  bool resume = false;           // go on from the checkpoint in `out`
  /// For a new run with `weights` of another run: images keep the parts that they had in that run
  /// (train/steps/known_parts.h).
  bool inherits_parts = false;
  /// Settings that decide the weights, by name. Checkpoints keep them, and a resumed run must have the same ones,
  /// besides what the job finds out itself (train/steps/checkpoint.h). Null: none.
  std::shared_ptr<const nlohmann::json> settings = nullptr;
};

/// A network divided over the stages of a plan's replicas.
struct Division {
  std::vector<network::NetworkStage> stages;  // empty: it is not divided
  int micro_batches = 1;                      // of each replica's share of a batch, where the network is divided
};

/// What is known of a training before its first step.
struct TrainSetup {
  explicit TrainSetup(network::Network described) : network(std::move(described)) {}

  network::Network network;
  Division division;
  data::ImageShape image;
  std::vector<std::string> classes;
  std::size_t images = 0, train_images = 0, val_images = 0, test_images = 0;
  std::vector<std::int64_t> train_counts, val_counts;  // images of each class; of a detector empty
  std::vector<data::Skipped> skipped;
  std::vector<std::string> notes;         // on the start of the run, for users and the record
  std::string engine, engine_reason;      // the engine's name; why it was chosen, "" = asked for or nothing to say
  int loader_threads = 0;                 // of the rank that has the most
  bool engine_reads_data = false;         // the engine reads images from the dataset's memory; loaders only say which
                                          // samples a batch has
  data::ChannelStatistics normalization;  // with which images are normalised
  std::string normalized_by;              // where it is from: "data", "weights", "given" or "checkpoint"
  std::int64_t steps_per_epoch = 0;
  int epochs = 0;     // of the whole run
  double load_s = 0;  // seconds that loading the data took
  /// The result of fitting a new last layer, in a run that begins with it; this fit then is the first epoch.
  std::optional<LinearProbe> linear_probe;
  bool begins_with_head = false;  // the run began by fitting a new last layer; known of a resumed run, too
  int resumed_epoch = 0;          // epochs that the checkpoint already had; 0 = from the start
  std::int64_t resumed_step = 0;  // and steps of the next epoch
};

/// The name of a figure of a detector's best epochs: the share of validation images on which it finds what it finds on
/// blank images, too (train/steps/blank_images.h).
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

/// Is called on the training thread as the training goes on.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  /// Called often, and before on_setup.
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
  bool is_detector = false;                        // it has `figures` instead of accuracies
  std::string status_reason;                       // where it stopped, and what to do
  std::vector<std::string> notes;                  // what happened on the way, for the record
  std::string end_note;                            // why training ended before the last epoch, or what was not reached
  std::vector<record::EpochRecord> epochs;         // all, those before a resume included
  int best_epoch = 0;                              // 0 = never validated
  std::optional<double> val_loss, val_accuracy;    // of `weights` when nothing was trained
  std::optional<double> test_loss, test_accuracy;  // with the best weights
  std::map<std::string, double> figures;           // of a detector, of the same: "test_map_50", ...
  record::ConfusionRecord confusion;               // of the test, or of the best validation where there is no test
  CopySearch copies;                               // of a classifier's images, where all are in memory
  StepBlocks first_epoch, later_epochs;            // of this run; the first one without its first ten steps
  /// What each replica did in training, by rank.
  struct ReplicaWork {
    std::int64_t samples = 0;
    double busy_s = 0;  // reading, forward, backward; without waiting for others
  };
  std::vector<ReplicaWork> replicas;
  std::int64_t head_images = 0;                       // that the last layer was fitted to, each copy counted
  std::vector<engine::DeviceReport> devices;          // by rank; notes of rank 0's alone
  std::vector<parallel::StageWork> stages;            // by rank; empty where replicas have one stage
  std::optional<parallel::PipelineFigures> pipeline;  // of these stages
  std::vector<std::pair<std::int64_t, std::vector<std::int64_t>>>
      shares;           // from which step on, and then each replica's samples of a batch
  record::Times times;  // without its total
};

/// Data, network, first weights or checkpoint, and engine of a training. All this is loaded here, before the replicas
/// are forked as processes, so that they share its memory. Options that were left open are then decided by the take_
/// functions, after trials (train/steps/trial.h) or otherwise.
class PreparedTraining {
 public:
  /// Throws Error or UsageError before any work when the data, model, memory or checkpoint don't allow it. The observer
  /// is told of the loading; it must outlive the training.
  PreparedTraining(TrainOptions options, TrainObserver& observer);
  PreparedTraining(PreparedTraining&& other) noexcept;
  ~PreparedTraining();

  /// The options, with the decisions taken so far.
  const TrainOptions& options() const;
  void take_plan(placement::Plan plan);
  /// Throws as the constructor does where this batch is impossible.
  void take_batch(std::int64_t batch);
  /// For a new run only.
  void take_epochs(int epochs);
  /// Computes in another precision, on the engine that suits it. For a new run only.
  void take_precision(Precision precision);

  struct State;  // train/steps/job.h
  State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// A dry run: tells the observer the setup and the notes of a new training with these options, without decoding images.
/// Checks what can be checked without them; throws as PreparedTraining and TrainJob do.
void look_at(TrainOptions options, TrainObserver& observer);

/// A training whose options are all decided.
class TrainJob {
 public:
  /// Throws Error or UsageError where it can't be run. Tells the setup to the observer that `training` was made with;
  /// run() tells that observer the rest.
  explicit TrainJob(PreparedTraining training);

  /// Limits the time: training, validation and test are to be over at `at_s` (by now_s()). To be called before run().
  /// An epoch that would take longer is not begun, and one that turns out to is cut short.
  void end_by(double at_s);

  /// One rank's part of the run: trains as the options say, or evaluates when they say 0 epochs. Rank 0 tells the
  /// observer, writes checkpoints, and returns the result; the others' results are empty. Ctrl-C (base/stop.h) saves a
  /// checkpoint and ends with kInterrupted; a loss of training, validation or test, or weights, that are not finite
  /// end with kDiverged and leave the last good checkpoint. Where nothing is trained, a note tells of such a loss.
  TrainResult run(const parallel::RankContext& context);

  /// Bytes of shared memory that the replicas' engines need (parallel::LaunchOptions); 0 where gradients are exchanged
  /// instead.
  std::size_t shared_bytes() const;

  /// The plan that the run computes on, without the replicas that were left out.
  const placement::Plan& plan() const;
  /// The data, with its parts.
  const data::OpenedData& data() const;
  /// Takes a replica that was lost for good out of the plan.
  void leave_out(int rank);

  /// Whether the checkpoint that is resumed is the end of the training: it has all epochs, or has met --until-accuracy
  /// or --patience.
  bool is_complete() const;

  /// What all hosts of a run have to agree on: data, network, options, start.
  std::vector<parallel::Fact> facts() const;

  /// After a rank was lost: the run goes on from the checkpoint in `out`, or from the start where there is none yet.
  void rewind();

 private:
  PreparedTraining training_;
};

}  // namespace evener::training
