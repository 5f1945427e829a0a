// Training steps that the host doesn't wait for: batches, learning rates and results go through rings of memory, so
// that the device has its next step before it has finished the last. After some eager steps they are captured, and
// replayed as a graph.
#pragma once

#include <ATen/ATen.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/torch/criterion.h"
#include "engine/torch/device_exchange.h"
#include "engine/torch/feed.h"
#include "engine/torch/streams.h"

namespace evener::engine::torch_engine {

/// The parts of a step on the device. None of them may read a value on the host.
struct StepWork {
  std::function<CriterionResult(const BatchTensors&)> forward;
  /// Computes the gradients of weight * loss, replacing earlier ones.
  std::function<void(const at::Tensor& loss, const at::Tensor& weight)> backward;
  /// The optimiser's step, which changes nothing where `stopped` (float32 ()) is 1.
  std::function<void(const at::Tensor& learning_rate, const at::Tensor& stopped)> update;
  /// The tensors that a forward pass changes: running statistics.
  std::vector<at::Tensor> statistics = {};
};

class WholeSteps {
 public:
  /// `exchange`: sums losses over replicas; null = there is one replica, or losses are summed elsewhere.
  /// `graph_refusal`: why steps can't be captured; "" = `make_graph` is called once capturing pays.
  WholeSteps(const Streams& streams, Feed& feed, const TorchCriterion& criterion, DeviceExchange* exchange,
             StepWork work, std::string graph_refusal, std::function<std::unique_ptr<StepGraph>()> make_graph);

  /// This replica's part in a batch that several replicas compute.
  struct Shared {
    std::int64_t counted = 0;  // samples or anchors of the whole batch, which its sums are over
    bool absent = false;       // this replica has no samples of it, and computes on a placeholder
  };

  /// Enqueues a step on the compute stream, which must be the current one, and reports earlier ones: all but the last
  /// two. `shared`: set where `batch` is only this replica's part of the batch.
  StepReport run(const data::Batch& batch, double weight, double learning_rate,
                 const std::optional<Shared>& shared = std::nullopt);
  /// Waits for the steps that were not reported yet, and reports them.
  StepReport settle() { return report_until(0); }
  /// To be called when weights were loaded: steps go on, even if an earlier loss was not finite.
  void restart();

  /// The median times of a step's phases over the timed steps, in seconds; empty where no device timed any.
  std::map<std::string, double> phases_s() const;
  /// A sentence about how steps were run; "" before the first.
  std::string note() const;

 private:
  at::Tensor sums_of(const CriterionResult& found, bool absent);

  /// The results of a step on their way to the host.
  struct Result {
    Result(const Streams& streams, std::int64_t numbers);
    /// float64: the criterion's sums, then whether steps have stopped: 0 if not, 1 if so; for a detector, 2 + the index
    /// in the batch of the first image whose loss stopped them.
    at::Tensor values;
    Moment landed;
    std::int64_t count = 0;              // of samples or anchors that the sums are over
    std::vector<std::uint32_t> samples;  // of the batch
  };
  struct Timing {
    explicit Timing(const Streams& streams);
    std::vector<Moment> moments;  // before forward, backward and update; after update
    const Feed::Slot* slot = nullptr;
  };

  void do_step(const BatchTensors& batch, Timing* timing, bool absent = false);
  void start(const data::Batch& batch, double weight, double learning_rate, const std::optional<Shared>& shared);
  void run_eagerly(Feed::Slot& slot, bool absent);
  void try_eagerly(Feed::Slot& slot);
  void drop_graph();
  int& eager_steps(const BatchLayout& layout);
  void capture(const Feed::Slot& slot);
  void replay(Feed::Slot& slot);
  void send_results(const data::Batch& batch, std::int64_t count);
  StepReport report_until(std::size_t left);
  void take_times();

  const Streams& streams_;
  Feed& feed_;
  const TorchCriterion& criterion_;
  DeviceExchange* const exchange_;
  StepWork work_;
  std::string graph_refusal_;
  std::function<std::unique_ptr<StepGraph>()> make_graph_;
  std::unique_ptr<StepGraph> graph_;
  bool updating_ = false;  // the work of a step's optimiser is being enqueued
  BatchLayout graph_layout_;
  at::Tensor graph_block_;                                // the block of the batch that the graph reads
  at::Tensor results_;                                    // as Result::values, written by each step
  at::Tensor stopped_;                                    // float32 (): 1 from the first loss that was not finite
  std::vector<std::pair<BatchLayout, int>> eager_steps_;  // number of eager steps, by the layout of the batch
  std::int64_t steps_ = 0;
  std::vector<Result> ring_;
  std::size_t next_result_ = 0;
  std::deque<Result*> pending_;
  std::unique_ptr<Timing> timing_;
  std::map<std::string, std::vector<double>> times_s_;
};

}  // namespace evener::engine::torch_engine
