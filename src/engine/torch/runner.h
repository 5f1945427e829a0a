// Runner on LibTorch: forward passes in evaluation mode without autograd. On the CPU start() does the whole call; a GPU
// works asynchronously, and copies of one call overlap with the work on another. Where our own kernels are used
// (channels-last on the CPU), batch-norms are folded, and convolutions are fused with the layers that follow them.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/runner.h"
#include "engine/torch/call_graphs.h"
#include "engine/torch/graph.h"
#include "engine/torch/streams.h"

namespace evener::engine::torch_engine {

/// Why these options can't be met, whatever the network; "" if they can.
std::string runner_refusal(const RunnerOptions& options);

class TorchRunner : public Runner {
 public:
  /// `sharing`: a runner of the same network and state, whose weights this one shares; null = it has its own.
  TorchRunner(const network::Network& network, const TensorMap& state, const RunnerOptions& options,
              const TorchRunner* sharing = nullptr);
  ~TorchRunner() override;

  void start(const ImageSpan& images) override;
  void start_of_size(const ImageSpan& images, std::int64_t count, std::int64_t height, std::int64_t width) override;
  void start_stage(const std::vector<HostTensor>& received) override;
  TensorMap wait() override;
  std::map<std::string, int> executed() const override;
  std::string note() const override { return graphs_->note(); }
  std::vector<LayerTime> layer_times() const override { return layer_times_; }

 private:
  /// The memory of one call.
  struct Call {
    explicit Call(const Streams& streams) : copied(streams), landed(streams) {}
    at::Tensor host, device;          // images (N, C, H, W), uint8 or float32; one tensor on the CPU
    std::vector<at::Tensor> outputs;  // in host memory once `landed` has passed
    Moment copied, landed;
  };

  /// `shape`: (N, C, H, W) of the call.
  void start_shaped(const ImageSpan& images, const std::vector<std::int64_t>& shape);
  /// Begins a call: `bring` fills the call's input memory.
  void begin_call(const std::function<void(Call&)>& bring);
  /// Converts a value from the stage before to an input of the graph.
  at::Tensor received_value(const HostTensor& value, const network::Shape& of_sample) const;
  void make_room(Call& call, const std::vector<std::int64_t>& shape, at::ScalarType type);
  void send_images(Call& call);
  /// The graph's input for images (N, C, H, W), or for vectors.
  at::Tensor input_of(const at::Tensor& images) const;
  /// Runs the graph on its `inputs`.
  std::vector<at::Tensor> compute(std::vector<at::Tensor> inputs);
  void send_back(Call& call, std::vector<at::Tensor> outputs);

  const RunnerOptions options_;
  Streams streams_;
  std::shared_ptr<Graph> graph_;  // may be shared by several runners on one device: read-only
  at::Tensor scale_, shift_;      // of the normalisation (1, C, 1, 1)
  std::vector<Call> calls_;
  std::size_t next_ = 0;
  std::deque<Call*> under_way_;
  std::unique_ptr<CallGraphs> graphs_;
  std::vector<LayerTime> layer_times_;  // of the last call, if RunnerOptions::times_layers
};

}  // namespace evener::engine::torch_engine
