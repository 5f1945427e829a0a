// A Network computed by LibTorch: its parameters and buffers as tensors, the forward pass over its layers, and their
// times in one forward pass and the backward pass after it, by the device's own clock.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "engine/engine.h"
#include "engine/runner.h"
#include "engine/torch/activations.h"
#include "engine/torch/batch_norm.h"
#include "engine/torch/convolution.h"
#include "engine/torch/later_gradients.h"
#include "engine/torch/streams.h"
#include "engine/trainer_options.h"
#include "network/network.h"
#include "network/steps.h"

namespace evener::engine::torch_engine {

using network::Step;

/// Called after each step of a forward pass with its output, and first with null and the input of the first step.
using StepWatch = std::function<void(const Step* step, const at::Tensor& output)>;

/// The clock of one forward and backward pass; must outlive the backward pass.
class LayerClock {
 public:
  /// The forward pass begins with the construction.
  LayerClock(const network::Network& network, const Streams& streams);
  LayerClock(const LayerClock&) = delete;
  LayerClock& operator=(const LayerClock&) = delete;

  /// The argument `watch` for Graph::forward_outputs.
  StepWatch watch();
  /// To be called when the forward pass has ended: the time since the last step is the loss's.
  void end_forward();
  /// To be called when the backward pass has ended. Autograd goes through the layers in reverse order, and hooks record
  /// when the gradient of each layer's output is ready: the time from then to the next layer's gradient is this
  /// layer's.
  void end_backward();
  /// Waits for the device and returns the times.
  std::vector<LayerTime> times();

 private:
  /// A border between layers: the end of entry `index` of times_, in the forward or the backward pass.
  struct Lap {
    Moment moment;
    double host_s = 0;  // for a device whose calls return when their work is done
    std::size_t index = 0;
    bool is_backward = false;
  };
  void lap(std::size_t index, bool is_backward);
  void take(const Step* step, const at::Tensor& output);
  std::vector<std::string> names_of(const Step& step) const;
  void gradient_came(std::size_t index);

  const network::Network& network_;
  const Streams& streams_;
  std::vector<LayerTime> times_;
  std::set<const void*> watched_;  // autograd nodes that have a hook
  std::size_t current_ = 0;        // whose backward is under way
  std::vector<Lap> laps_;          // the first one: the beginning
};

struct GraphOptions {
  at::Device device{at::kCPU};
  at::ScalarType compute = at::kFloat;  // of convolutions and matrix products; parameters stay float32
  at::MemoryFormat format = at::MemoryFormat::Contiguous;  // of images, activations and convolution weights
  /// Batch normalisation and depthwise convolutions use our own kernels: channels-last on the CPU.
  bool own_kernels = false;
  ConvolutionChoice convolution = ConvolutionChoice::kDirect;  // of 3x3 convolutions where own_kernels
  /// With own_kernels: training steps have several forward passes with the same weights; see Graph::forget_weights.
  bool keeps_weights = false;
  /// With own_kernels: convolutions are fused with the layers that follow them; see Graph::prepare.
  bool inference = false;
};

class Graph {
 public:
  Graph(network::Network network, const GraphOptions& options);

  /// A forward pass. `inputs`: (N, shape) float32, in the order of Network::inputs(); for most networks only images (N,
  /// C, H, W). Returns the outputs, (N, shape) float32, in the order of Network::outputs(). In training mode batch-norm
  /// uses batch statistics and updates the running ones, and dropout multiplies by `masks`. `replicas`: those whose
  /// samples belong to the same batch (null = only this one); outlives the backward pass. `watch` is called after each
  /// step; may be empty. `later`: if not null, the backward pass leaves the gradients of convolutions' and linear
  /// layers' weights there instead of computing them.
  std::vector<at::Tensor> forward_outputs(std::vector<at::Tensor> inputs, bool training, const DropoutMasks& masks,
                                          const Replicas* replicas = nullptr, const StepWatch& watch = {},
                                          LaterGradients* later = nullptr);
  /// The same for a network with one input, whose memory is freed as soon as no layer needs it any more.
  std::vector<at::Tensor> forward_outputs(at::Tensor input, bool training, const DropoutMasks& masks,
                                          const Replicas* replicas = nullptr, const StepWatch& watch = {});

  /// Frees what GraphOptions::keeps_weights keeps of the weights in other orders; to be called between steps.
  void forget_weights();

  /// Reorders the weights of convolutions for the kernels, and frees those of tensors() that are replaced. For
  /// GraphOptions::inference; to be called once, when the tensors have their final values. `batch`: the number of
  /// images of a forward pass, or a guess.
  void prepare(std::int64_t batch);
  /// The number of convolutions by method and number format of their images, as Runner::executed (Winograd's multiply
  /// in float32 whatever the format); empty where LibTorch chooses the method. In training, for the largest batch so
  /// far, and empty before the first.
  std::map<std::string, int> executed() const;

  const network::Network& network() const { return network_; }
  at::MemoryFormat format() const { return options_.format; }
  at::Device device() const { return options_.device; }
  /// All parameters and buffers, in the order of Network::parameters().
  std::vector<at::Tensor>& tensors() { return tensors_; }
  const std::vector<at::Tensor>& tensors() const { return tensors_; }

 private:
  /// The arguments of a forward pass that all layers get.
  struct Pass {
    bool training;
    const DropoutMasks& masks;
    const Replicas* replicas;
    LaterGradients* later;
  };
  at::Tensor run(const Step& step, const std::vector<at::Tensor>& outputs, const Pass& pass);
  at::Tensor run_batch_norm(const Step& step, const std::vector<at::Tensor>& outputs, bool training,
                            const Replicas* replicas);
  at::Tensor run_depthwise(const Step& step, const std::vector<at::Tensor>& outputs, const Pass& pass);
  /// A batch normalisation, and the clamp of the layer `activation`; -1 = none.
  BatchNormLayer norm_layer(int index, int activation, bool training, const Replicas* replicas);
  /// Counts a batch whose statistics a batch normalisation takes.
  void count_batch(int norm, bool training);
  /// Whether a convolution that has no PreparedConvolution is computed by Winograd's kernels.
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
  StepWeightsPtr kept_;                          // null unless options_.keeps_weights
  std::int64_t largest_batch_ = 0;               // of a forward pass in training mode
};

/// The options of a trainer's graph.
GraphOptions graph_options(const network::Network& network, const TrainerOptions& options);

/// Whether batch-norm takes the statistics of all replicas.
bool is_synchronised(const network::Network& network, const TrainerOptions& options);

/// The memory format of convolution weights and gradients on the CPU replicas of the same run, which replicas on other
/// devices use for exchanging gradients.
at::MemoryFormat host_memory_format(const network::Network& network, const TrainerOptions& options);

/// Why a network can't be trained as one replica of several with this layout ("" = it can).
std::string replica_refusal(const network::Network& network, const TrainerOptions& options);

}  // namespace evener::engine::torch_engine
