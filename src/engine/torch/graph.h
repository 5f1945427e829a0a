// A Network on LibTorch: its parameters and buffers as tensors, and the forward pass over its layers.
#pragma once

#include <ATen/ATen.h>

#include <map>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "engine/torch/channel_sums.h"
#include "engine/torch/dropout.h"
#include "engine/torch/later_gradients.h"
#include "engine/torch/layer_times.h"
#include "engine/torch/prepared_convolution.h"
#include "engine/trainer_options.h"
#include "network/network.h"
#include "network/steps.h"

namespace evener::engine::torch_engine {

struct GraphOptions {
  at::Device device{at::kCPU};
  at::ScalarType compute = at::kFloat;  // of convolutions and matrix products; parameters stay float32
  at::MemoryFormat format = at::MemoryFormat::Contiguous;  // of images, activations and convolution weights
  bool own_kernels = false;  // batch normalisation and depthwise convolutions by our own: channels-last on the CPU
  ConvolutionChoice convolution = ConvolutionChoice::kDirect;  // of 3x3 convolutions where own_kernels
  bool inference = false;  // where own_kernels: convolutions are joined with what follows them; see Graph::prepare
};

class Graph {
 public:
  Graph(network::Network network, const GraphOptions& options);

  /// `inputs` (N, shape) float32, in the order of Network::inputs(); of most networks images (N, C, H, W) alone -> the
  /// network's outputs, (N, shape) in float32, in the order of Network::outputs().
  /// In training mode batch-norm uses and updates batch statistics and dropout is active, by `masks`. `replicas`: whose
  /// samples belong to the same batch (null = this one's alone); outlives the backward pass. `watch` may be empty.
  /// `later`: where the backward pass leaves gradients of convolutions' and linear layers' weights (null = nowhere).
  std::vector<at::Tensor> forward_outputs(std::vector<at::Tensor> inputs, bool training, const DropoutMasks& masks,
                                          const Replicas* replicas = nullptr, const StepWatch& watch = {},
                                          LaterGradients* later = nullptr);
  /// The same of a network with one input, which is let go as soon as nothing needs it.
  std::vector<at::Tensor> forward_outputs(at::Tensor input, bool training, const DropoutMasks& masks,
                                          const Replicas* replicas = nullptr, const StepWatch& watch = {});

  /// With GraphOptions::inference, to be called once when the tensors have their values, which then don't change any
  /// more: brings the weights of convolutions into the order of the kernels, and lets tensors() go that this replaces.
  /// `batch`: the images of each forward pass, or a guess.
  void prepare(std::int64_t batch);
  /// How many convolutions are computed by which method and of images in which number format, as Runner::executed
  /// (Winograd's multiply in float32 whatever it is); empty where LibTorch chooses. In training, as for the largest
  /// batch so far, and empty before the first.
  std::map<std::string, int> executed() const;

  const network::Network& network() const { return network_; }
  at::MemoryFormat format() const { return options_.format; }
  at::Device device() const { return options_.device; }
  /// All parameters and buffers, in the order of Network::parameters().
  std::vector<at::Tensor>& tensors() { return tensors_; }
  const std::vector<at::Tensor>& tensors() const { return tensors_; }

 private:
  /// What all layers of a forward pass are told.
  struct Pass {
    bool training;
    const DropoutMasks& masks;
    const Replicas* replicas;
    LaterGradients* later;
  };
  at::Tensor run(const Step& step, const std::vector<at::Tensor>& outputs, const Pass& pass);
  at::Tensor run_batch_norm(const Step& step, const std::vector<at::Tensor>& outputs, bool training,
                            const Replicas* replicas);
  /// Without PreparedConvolution.
  bool computes_winograd(const network::Conv2d& op, const network::Shape& input, std::int64_t batch) const;
  at::Tensor run_convolution(const Step& step, const network::Conv2d& op, const std::vector<at::Tensor>& outputs,
                             const Pass& pass);
  at::Tensor run_linear(const Step& step, const network::Linear& op, const at::Tensor& x, const Pass& pass);

  network::Network network_;
  const GraphOptions options_;
  std::vector<at::Tensor> tensors_;
  std::vector<std::vector<at::Tensor>> of_layer_;  // the same, layer by layer
  const std::vector<int> inputs_;
  std::vector<Step> steps_;
  std::map<int, PreparedConvolution> prepared_;  // by their layers
  std::int64_t largest_batch_ = 0;               // of images to learn from
};

}  // namespace evener::engine::torch_engine
