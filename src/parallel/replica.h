// One replica of the network being trained: its trainer, its loaders and its ends of the group's channels.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/loader.h"
#include "engine/engine.h"
#include "network/network.h"
#include "parallel/channels.h"
#include "parallel/command.h"
#include "parallel/confusion.h"
#include "parallel/device_sums.h"
#include "parallel/output_judge.h"
#include "parallel/pipeline.h"
#include "parallel/step_protocol.h"
#include "parallel/throttle.h"

namespace evener::parallel {

struct ReplicaOptions {
  engine::TrainerOptions trainer;  // sum_over_replicas is filled in
  double speed_factor = 1;         // below 1: emulates a slower device ("@0.25")
  bool local_batch_norm = false;   // statistics of the replica's own samples instead of the whole batch's
  bool always_exchange = false;    // all-reduce gradients even in a group of one
  bool devices_exchange = false;   // devices do the all-reduce, without the CPU (parallel/device_sums.h)
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
