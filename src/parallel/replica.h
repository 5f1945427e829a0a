// One replica of the network being trained: its trainer, its share of the data, its ends of the group's channels.
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
  double speed_factor = 1;         // emulated, "@0.25"
  bool local_batch_norm = false;   // statistics of the replica's own samples instead of the whole batch's
  bool always_exchange = false;    // gradients, also in a group of one
  bool devices_exchange = false;   // gradients, losses and statistics, without their hosts (parallel/device_sums.h)
  comm::CommunicationDtype communication_dtype = comm::CommunicationDtype::kFloat32;
  std::int64_t batch = 1;  // of all replicas together
  int accumulate = 1;      // micro-batches that a whole batch is computed in, one after the other
  data::LoaderOptions loader;
  std::vector<std::uint32_t> train_samples;
  std::vector<std::vector<std::uint32_t>> evaluation_parts;
  StageOptions stage;                  // where trainer.stage is a part of the network
  std::size_t confusion_classes = 0;   // classes to count confusions of; 0 = not counted
  std::shared_ptr<OutputJudge> judge;  // of this replica's outputs in evaluations; null = sums are enough
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
  /// `network`: the rank's stage, where the replica has several. Makes the trainer, on the calling thread, which drives
  /// it from then on.
  Replica(engine::Engine& engine, const network::Network& network, std::shared_ptr<const data::Dataset> dataset,
          ReplicaOptions options, Channels channels);

  /// Samples per second on a few training images, measured side by side with the others. Changes buffers: load a state
  /// afterwards.
  double probe();

  /// Does what commands say until kFinish. For every rank but 0.
  void serve();
  /// Rank 0: sends `command` to all and does it too.
  void lead(const Command& command);

  /// The sizes of the micro-batches that a training batch of `samples` is computed in.
  std::vector<std::int64_t> micro_batches_of(std::int64_t samples) const;

  /// After kReport: of each rank, with the notes of this one.
  const std::vector<engine::DeviceReport>& reports() const { return reports_; }

  /// After kReport: of each rank; empty where replicas are not divided into stages.
  const std::vector<StageWork>& stage_work() const { return stage_work_; }

  /// Rank 0, after kGatherState: what was gathered.
  TensorMap take_gathered() { return std::move(gathered_); }
  /// Rank 0, before kLoadState: the weights that all stages take theirs from. Outlives that.
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
  /// This replica's number.
  int replica() const { return rank() / stages(); }
  /// The channel of ranks that have the same weights, and the first of these.
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
  bool synchronised_ = false;            // batch-norm
  bool all_shared_ = false;              // no parameter or buffer is this replica's own
  std::vector<std::string> statistics_;  // names of the running statistics, where each replica has its own
  std::unique_ptr<data::Loader> train_loader_, evaluation_loader_;
  data::Loader* serving_ = nullptr;               // the one that divided batches are for
  std::deque<StepShare> divided_;                 // of batches divided and not yet taken, still without their samples
  std::shared_ptr<GroupDeviceSums> device_sums_;  // of replicas whose devices exchange; the trainer has it too
  std::unique_ptr<engine::Trainer> trainer_;
  engine::Capabilities capabilities_;       // of the trainer
  std::unique_ptr<Pipeline> pipeline_;      // of a replica with several stages
  std::unique_ptr<StepProtocol> protocol_;  // how this replica does a step
  std::int64_t trained_ = 0;                // samples since the statistics were averaged
  StepResult step_;
  EvaluationResult evaluation_;
  std::vector<std::int32_t> labels_, predicted_;  // of samples that the confusions don't count yet; predicted_ may have
                                                  // fewer so far
  std::vector<engine::DeviceReport> reports_;
  std::vector<StageWork> stage_work_;
  TensorMap gathered_;
  const TensorMap* given_ = nullptr;
};

}  // namespace evener::parallel
