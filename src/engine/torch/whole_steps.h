// Training steps that nobody waits for: their batches, learning rates and results go through rings of memory, so that
// the device has its next step before it is through with the last. From some steps on they are replayed as a graph.
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
#include "engine/torch/step_graph.h"
#include "engine/torch/streams.h"

namespace evener::engine::torch_engine {

/// What a step does on the device. Nothing of it may read a value there.
struct StepWork {
  std::function<CriterionResult(const BatchTensors&)> forward;
  /// Leaves the gradients of weight * loss; what was there before is dropped.
  std::function<void(const at::Tensor& loss, const at::Tensor& weight)> backward;
  /// The optimiser's step, which changes nothing where `stopped` (float32 ()) is 1.
  std::function<void(const at::Tensor& learning_rate, const at::Tensor& stopped)> update;
  /// What a forward pass changes: running statistics.
  std::vector<at::Tensor> statistics = {};
};

class WholeSteps {
 public:
  /// `exchange`: by which losses are added up over replicas; null = there are none, or they do it otherwise.
  /// `graph_refusal`: why steps are not captured; "" = `make_graph` is asked for a graph once it pays.
  WholeSteps(const Streams& streams, Feed& feed, const TorchCriterion& criterion, DeviceExchange* exchange,
             StepWork work, std::string graph_refusal, std::function<std::unique_ptr<StepGraph>()> make_graph);

  /// A batch that several replicas compute.
  struct Shared {
    std::int64_t counted = 0;  // what the sums of all of it are over
    bool absent = false;       // this replica has none of it: its samples are a placeholder
  };

  /// Gives a step to the compute stream, which is the current one. Reports the steps before the last two. `shared`:
  /// where `batch` is but this replica's part.
  StepReport run(const data::Batch& batch, double weight, double learning_rate,
                 const std::optional<Shared>& shared = std::nullopt);
  /// Waits for the steps that were not reported.
  StepReport settle() { return report_until(0); }
  /// The weights are others from here on: a loss that was not finite counts no more.
  void restart();

  bool is_captured() const { return graph_ != nullptr; }
  /// Medians over the timed steps, in seconds; empty where no device timed any.
  std::map<std::string, double> phases_s() const;
  /// How the steps were run; "" before the first.
  std::string note() const;

 private:
  at::Tensor sums_of(const CriterionResult& found, bool absent);

  /// Results on their way to the host.
  struct Result {
    Result(const Streams& streams, std::int64_t numbers);
    /// float64: the criterion's sums, then whether steps had stopped: 0, or 1, or of a detector 2 and the number of the
    /// first image in the batch whose loss stopped them.
    at::Tensor values;
    Moment landed;
    std::int64_t count = 0;              // of what the sums are over
    std::vector<std::uint32_t> samples;  // of the batch
  };
  struct Timing {
    explicit Timing(const Streams& streams);
    std::vector<Moment> moments;  // before forward, backward, update; after
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
  bool updating_ = false;  // a step's optimiser is being given its work
  BatchLayout graph_layout_;
  at::Tensor graph_block_;                                // the batch that the graph reads
  at::Tensor results_;                                    // as Result::values, written by each step
  at::Tensor stopped_;                                    // float32 (): 1 from the first loss that was not finite
  std::vector<std::pair<BatchLayout, int>> eager_steps_;  // how many there were of each kind of batch
  std::int64_t steps_ = 0;
  std::vector<Result> ring_;
  std::size_t next_result_ = 0;
  std::deque<Result*> pending_;
  std::unique_ptr<Timing> timing_;
  std::map<std::string, std::vector<double>> times_s_;
};

}  // namespace evener::engine::torch_engine
