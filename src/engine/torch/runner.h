// Runner on LibTorch: forward passes in evaluation mode without autograd. On the CPU a call is through when it has been
// started; a GPU works on its own, and copies of one call go beside the work on another. Where our own kernels compute
// (channels-last on the CPU), batch-norm is folded, and convolutions are joined with what follows them.
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

/// Why such calls can't be made, whatever the network; "" if they can.
std::string runner_refusal(const RunnerOptions& options);

class TorchRunner : public Runner {
 public:
  /// `sharing`: a runner of the same network and state, whose weights this one takes; null = none.
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
  /// Begins a call with what `bring` does, its memory given.
  void begin_call(const std::function<void(Call&)>& bring);
  /// What a stage before gave, as the graph takes it.
  at::Tensor received_value(const HostTensor& value, const network::Shape& of_sample) const;
  void make_room(Call& call, const std::vector<std::int64_t>& shape, at::ScalarType type);
  void send_images(Call& call);
  /// The graph's input for images (N, C, H, W), or for vectors.
  at::Tensor input_of(const at::Tensor& images) const;
  /// `inputs`: of the graph.
  std::vector<at::Tensor> compute(std::vector<at::Tensor> inputs);
  void send_back(Call& call, std::vector<at::Tensor> outputs);

  const RunnerOptions options_;
  Streams streams_;
  std::shared_ptr<Graph> graph_;  // of several runners on one device: nobody writes to it any more
  at::Tensor scale_, shift_;      // of the normalisation (1, C, 1, 1)
  std::vector<Call> calls_;
  std::size_t next_ = 0;
  std::deque<Call*> under_way_;
  std::unique_ptr<CallGraphs> graphs_;
  std::vector<LayerTime> layer_times_;  // of the last call, where they are taken
};

}  // namespace evener::engine::torch_engine
