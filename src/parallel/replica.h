// One replica of the network being trained: its trainer, its loaders and its ends of the group's channels; the commands
// that it obeys, and what it reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "comm/communicator.h"
#include "data/batch.h"
#include "data/loader.h"
#include "engine/engine.h"
#include "engine/trainer.h"
#include "network/network.h"
#include "parallel/pipeline.h"
#include "parallel/step_protocol.h"
#include "parallel/throttle.h"

namespace evener::parallel {

/// What rank 0 tells all replicas to do next. It decides everything (stops, shares, who takes part); the others obey.
struct Command {
  enum class Kind : std::int64_t {
    kStartEpoch,     // serve the training images in the order of `epoch`
    kStartPart,      // serve the images of one part of the data, for evaluation
    kDivide,         // no action besides the division that `divides` announces
    kTrain,          // one step on the next batch, with `learning_rate`
    kSettle,         // wait for the results of steps that a device has not reported yet
    kEvaluate,       // evaluate the next batch
    kSumEvaluation,  // add up losses, confusions and verdicts since kStartPart over all ranks
    kShareState,     // rank 0 broadcasts its parameters and buffers; with `with_optimizer` also the optimiser's state
    kSwapAverage,    // swap the weights with their running average
    kSetMembers,     // from now on the replicas with a count of 1 train
    kGatherState,    // all stages send rank 0 their parameters and buffers, or with `with_optimizer` the optimiser's
                     // state
    kLoadState,  // all stages take their parameters and buffers from the state that Replica::give_state() gave rank 0
    kReport,     // gather the devices' reports
    kFinish,     // the run is over
  };
  Kind kind = Kind::kFinish;
  std::int64_t epoch = 0, step = 0;
  double learning_rate = 0;
  std::int64_t part = 0;            // index of the part to evaluate
  std::int64_t with_optimizer = 0;  // 0 or 1
  /// 1: the command also says how the first batch that isn't divided yet is shared out; replicas note this before they
  /// do anything else. The batch begins at sample `begin` and consists of consecutive micro-batches; replica r gets
  /// counts[m * replicas + r] samples of micro-batch m.
  std::int64_t divides = 0;
  std::int64_t begin = 0;
  std::vector<std::int64_t> counts = {};  // see `divides`; with kSetMembers 1 or 0 for each rank; padded with zeros
};

/// Turns a command into 8-byte numbers and back. The message has the same length for every command of up to `counts`
/// counts, so that a broadcast's receivers know it beforehand.
std::vector<std::int64_t> packed(const Command& command, std::size_t counts);
Command unpacked(const std::vector<std::int64_t>& numbers);

/// The confusion matrix of a classifier. Each replica counts its own samples, and an all-reduce adds the counts up.
class ConfusionCounts {
 public:
  /// An empty matrix that counts nothing.
  ConfusionCounts() = default;
  /// A matrix of zeros for `classes` classes; with 0 classes it counts nothing.
  explicit ConfusionCounts(std::size_t classes) : classes_(classes), counts_(classes * classes, 0) {}

  /// Counts one sample for each pair of true and predicted class. Skips samples whose classes are out of range.
  void add(std::span<const std::int32_t> true_classes, std::span<const std::int32_t> found_classes);

  std::size_t classes() const { return classes_; }
  std::int64_t count(std::size_t true_class, std::size_t found_class) const {
    return counts_[true_class * classes_ + found_class];
  }

  /// Converts the counts to numbers that an all-reduce can add up, and back.
  std::size_t packed_size() const { return counts_.size(); }
  void pack(std::span<double> to) const;
  void unpack(std::span<const double> from);

 private:
  std::size_t classes_ = 0;
  std::vector<std::int64_t> counts_;  // [true class * classes + found class]
};

/// A collective: each rank gives its own report and gets those of all ranks, by rank. Notes are not exchanged; the
/// result has only the caller's.
std::vector<engine::DeviceReport> exchange_reports(comm::Communicator& communicator, const engine::DeviceReport& own);

/// Evaluates a network's outputs where sums over samples are not enough: a detector's average precision depends on all
/// images together. Each replica has a judge of its own for the samples that it evaluates. Whoever asked for the
/// evaluation merges the verdicts.
class OutputJudge {
 public:
  virtual ~OutputJudge() = default;
  /// Starts a new evaluation and forgets the last one.
  virtual void begin() = 0;
  /// `outputs`: (count, shape) float32 each, in the order of Network::outputs().
  virtual void add(const data::Batch& batch, const std::vector<HostTensor>& outputs) = 0;
  /// The result over all batches added since begin(), as a message (base/message.h).
  virtual std::string verdict() const = 0;
};

struct ReplicaOptions {
  engine::TrainerOptions trainer;  // sum_over_replicas is filled in
  double speed_factor = 1;         // below 1: emulates a slower device ("@0.25")
  bool local_batch_norm = false;   // statistics of the replica's own samples instead of the whole batch's
  bool always_exchange = false;    // all-reduce gradients even in a group of one
  bool devices_exchange = false;   // devices do the all-reduce, without the CPU
  comm::CommunicationDtype communication_dtype = comm::CommunicationDtype::kFloat32;
  std::int64_t batch = 1;  // of all replicas together
  int accumulate = 1;      // micro-batches of a whole batch
  data::LoaderOptions loader;
  std::vector<std::uint32_t> train_samples;
  std::vector<std::vector<std::uint32_t>> evaluation_parts;
  StageOptions stage;                  // used only if the network is divided into stages
  std::size_t confusion_classes = 0;   // classes of the confusion matrix; 0 = none is counted
  std::shared_ptr<OutputJudge> judge;  // of the outputs in evaluations; null = sums are enough
  std::function<void(std::int64_t epoch, std::int64_t step)> on_progress;  // may be empty
};

struct EvaluationResult {
  engine::Sums sums;
  ConfusionCounts confusion;
  std::vector<std::string> verdicts;  // of each rank's judge, by rank; empty without judges
};

class GroupDeviceSums;

/// One rank's part of a replica: all of it, or one of its stages.
class Replica {
 public:
  /// `network`: the rank's stage of the network, or the whole network if there is one stage. Makes the trainer on the
  /// calling thread, which must make all later calls too.
  Replica(engine::Engine& engine, const network::Network& network, std::shared_ptr<const data::Dataset> dataset,
          ReplicaOptions options, Channels channels);

  /// Measures this replica's samples per second on a few training images while the other replicas measure theirs.
  /// Changes batch-norm's running statistics, so a state has to be loaded afterwards.
  double probe();

  /// Obeys rank 0's commands until kFinish. For every rank but 0.
  void serve();
  /// For rank 0: broadcasts `command` and obeys it too.
  void lead(const Command& command);

  /// The sizes of the micro-batches of a training batch of `samples` samples.
  std::vector<std::int64_t> micro_batches_of(std::int64_t samples) const;

  /// After kReport: the reports of all ranks, by rank; notes only of this rank.
  const std::vector<engine::DeviceReport>& reports() const { return reports_; }

  /// After kReport: the work of each rank's stage; empty where replicas are not divided into stages.
  const std::vector<StageWork>& stage_work() const { return stage_work_; }

  /// For rank 0, after kGatherState: the state gathered from all stages.
  TensorMap take_gathered() { return std::move(gathered_); }
  /// For rank 0, before kLoadState: sets the state of the whole network that all stages load. `state` must outlive that
  /// command.
  void give_state(const TensorMap& state) { given_ = &state; }

  const StepResult& last_step() const { return step_; }
  const EvaluationResult& last_evaluation() const { return evaluation_; }
  engine::Trainer& trainer() { return *trainer_; }
  comm::Communicator& control() { return *channels_.control; }
  int rank() const { return channels_.control->rank(); }
  int ranks() const { return channels_.control->size(); }
  int stages() const { return options_.trainer.stage.count; }
  int replicas() const { return ranks() / stages(); }
  bool exchanges_on_devices() const { return device_sums_ != nullptr; }

 private:
  /// The number of the replica that this rank belongs to.
  int replica() const { return rank() / stages(); }
  /// The channel of all ranks that hold the same weights (the same stage of each replica), and the first of these
  /// ranks.
  comm::Communicator& peers() { return stages() == 1 ? *channels_.control : *channels_.sums; }
  int first_peer() const { return options_.trainer.stage.number; }
  void gather_state(bool of_optimizer);
  void load_given();
  std::size_t most_counts() const;
  bool finds_classes() const { return options_.confusion_classes > 0 && options_.trainer.stage.is_last(); }
  void serve_first(std::int64_t count);
  double speed_with(std::int64_t count);
  void start(data::Loader& loader, std::vector<std::uint32_t> order, std::uint64_t epoch);
  StepShare next_share();
  void obey(const Command& command);
  void divide(const Command& command);
  void train(const Command& command);
  StepContext step_context(const network::Network& network);
  void evaluate();
  engine::Sums judged(const data::Batch& share);
  engine::Sums evaluated(const data::Batch& share);
  void end_evaluation();
  void count_confusion();
  void sum_evaluation();
  void report();
  void share_state(bool with_optimizer);
  void average_statistics(TensorMap& state);
  void set_members(const Command& command);
  double sum_over_stages(double value);
  void sum_over_replicas(std::span<double> values);
  void meet();

  ReplicaOptions options_;
  std::shared_ptr<const data::Dataset> dataset_;
  Channels channels_;
  Throttle throttle_;
  bool probing_ = false;
  bool member_ = true;
  std::vector<int> members_;             // ranks that train
  bool synchronised_ = false;            // batch-norm uses statistics over all replicas
  bool all_shared_ = false;              // no parameter or buffer is this replica's own
  std::vector<std::string> statistics_;  // names of running statistics, if each replica has its own
  std::unique_ptr<data::Loader> train_loader_, evaluation_loader_;
  data::Loader* serving_ = nullptr;               // the loader of the present epoch or evaluation
  std::deque<StepShare> divided_;                 // shares of the next batches, still without their samples
  std::shared_ptr<GroupDeviceSums> device_sums_;  // null unless devices exchange; shared with the trainer
  std::unique_ptr<engine::Trainer> trainer_;
  engine::Capabilities capabilities_;       // of the trainer
  std::unique_ptr<Pipeline> pipeline_;      // of a replica with several stages
  std::unique_ptr<StepProtocol> protocol_;  // the way in which this replica does a step
  std::int64_t trained_ = 0;                // samples since the statistics were averaged
  StepResult step_;
  EvaluationResult evaluation_;
  std::vector<std::int32_t> labels_, predicted_;  // not in the confusion matrix yet; predicted_ may lag
  std::vector<engine::DeviceReport> reports_;
  std::vector<StageWork> stage_work_;
  TensorMap gathered_;
  const TensorMap* given_ = nullptr;
};

}  // namespace evener::parallel
