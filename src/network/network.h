// The description of a network: a directed acyclic graph of layers with shapes and named parameters. It knows no device
// and no library; engines compute it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "network/anchors.h"

namespace evener::network {

/// Extents without the batch dimension: (C, H, W) for images, (F) for vectors, (P, V) for P rows of V values.
using Shape = std::vector<std::int64_t>;

/// A height and a width: of a window, its stride, or the padding. One number stands for both, as in Conv2d{.kernel =
/// 3}; two are height and width, as in Conv2d{.kernel = {1, 7}}.
struct Extent2d {
  // Not explicit, so that descriptions of layers stay short.
  constexpr Extent2d(std::int64_t both) : height(both), width(both) {}
  constexpr Extent2d(std::int64_t of_rows, std::int64_t of_columns) : height(of_rows), width(of_columns) {}

  constexpr std::int64_t area() const { return height * width; }
  constexpr bool is_square() const { return height == width; }
  bool operator==(const Extent2d&) const = default;

  std::int64_t height, width;
};

struct Input {};
/// y = x W^T + b, W (out_features, in_features). Takes a vector.
struct Linear {
  std::int64_t out_features = 0;
  bool bias = true;
  int weight_bits = 0;  // see FakeQuantize; 0 = the weights are as they are
};
/// Cross-correlation, weight (out_channels, in_channels / groups, kernel height, kernel width); zero padding.
struct Conv2d {
  std::int64_t out_channels = 0;
  Extent2d kernel = 1;
  Extent2d stride = 1;
  Extent2d padding = 0;
  std::int64_t groups = 1;
  bool bias = false;
  /// The standard deviation of the normal distribution that weights are initialised from, with biases of 0; 0: weights
  /// are initialised as in torchvision.
  double first_deviation = 0;
  int weight_bits = 0;  // see FakeQuantize; 0 = the weights are as they are
};
/// Per-channel normalisation; running statistics follow PyTorch's convention (new = (1 - momentum) old + momentum
/// batch, unbiased variance in the running estimate).
struct BatchNorm {
  double epsilon = 1e-5;
  double momentum = 0.1;
  bool frozen = false;  // in training it also normalises by its running statistics, and doesn't update them
};
/// kSilu is x sigmoid(x); kHardSigmoid is x / 6 + 1/2, clamped to 0 and 1; kHardSwish is x times hard-sigmoid(x).
enum class ActivationKind { kRelu, kRelu6, kSigmoid, kTanh, kSilu, kHardSwish, kHardSigmoid };
struct Activation {
  ActivationKind kind = ActivationKind::kRelu;
};
/// A leaky ReLU with a learnt slope: negative values are multiplied by its weight (C), one per channel.
struct PRelu {};
/// The largest value in each window. Padding is never the largest.
struct MaxPool {
  Extent2d kernel = 2;
  Extent2d stride = 2;
  Extent2d padding = 0;
  /// Whether windows count that begin inside the image, or in the padding before it, but reach beyond the padding after
  /// it: the output's extents are rounded up.
  bool ceil_mode = false;
};
/// The mean of each window.
struct AveragePool {
  Extent2d kernel = 2;
  Extent2d stride = 2;
  Extent2d padding = 0;
  bool ceil_mode = false;         // as MaxPool's; places beyond the padding never count in a mean
  bool count_include_pad = true;  // whether the padding's zeros count in the mean
};
/// Mean over H and W: (C, H, W) -> (C, 1, 1).
struct GlobalAveragePool {};
/// Element-wise sum of its inputs, which have one shape.
struct Add {};
/// Element-wise product of two inputs of one shape, or of an image (C, H, W) with a factor per channel (C, 1, 1).
struct Multiply {};
/// Multiplies its input by a constant.
struct Scale {
  double factor = 1;
};
/// Concatenates its inputs: images of one height and width along their channels, vectors, or rows of one length.
struct Concat {};
struct Flatten {};
/// Reorders an image into rows of `values` numbers: (A * values, H, W) -> (H * W * A, values), pixel by pixel, the A
/// rows of a pixel one after the other. A detector's feature maps become predictions per anchor by it.
struct Rows {
  std::int64_t values = 1;
};
/// In training, sets values to zero with this probability, and multiplies the others by 1 / (1 - probability).
struct Dropout {
  double probability = 0.5;
};
/// A dropout of whole samples (Huang et al. 2016), for the branch of a sum; torchvision's mode "row".
struct StochasticDepth {
  double probability = 0.5;
};

/// The shortcut without parameters of He et al. 2015 ("option A"): takes every stride-th pixel, and adds channels of
/// zeros up to `out_channels`, half of them before the image's own and half after (one more after where their number is
/// odd).
struct SubsamplePad {
  std::int64_t out_channels = 0;
  std::int64_t stride = 2;
};

/// Pads an image with zeros, before it (above and to the left) and after it (below and to the right), not necessarily
/// as many: TensorFlow's "SAME" padding needs that.
struct Pad {
  Extent2d before = 0, after = 0;
};

/// Fake quantisation (Jacob et al. 2018) of activations to 8 bits: rounds each value to the nearest one that int8
/// kernels can represent, the scale times a whole number from -128 to 127, or from 0 to 255 if unsigned
/// (network/quantization.h). The scale is a parameter (1). Weights are quantised by their own layer: one with
/// `weight_bits` has a parameter "weight_scale" with a scale per output channel.
struct FakeQuantize {
  bool is_signed = true;
};

using Op =
    std::variant<Input, Linear, Conv2d, BatchNorm, Activation, MaxPool, GlobalAveragePool, Add, Flatten, Dropout,
                 SubsamplePad, PRelu, AveragePool, Multiply, Concat, StochasticDepth, Scale, FakeQuantize, Rows, Pad>;

/// "conv2d", "batch_norm", ...
const char* op_name(const Op& op);

/// Whether it is one of these operations.
template <class... Ops>
bool is_one_of(const Op& op) {
  return (std::holds_alternative<Ops>(op) || ...);
}

struct Layer {
  std::string name;  // as in torchvision's state dict: "layer1.0.conv1"; unique
  Op op;
  std::vector<int> inputs;  // indices of earlier layers
  Shape shape;              // of the output
  /// Its index in the network; in a stage, that in the whole network. Keys random choices such as dropout.
  int number = 0;
};

enum class Init {
  kZeros,
  kOnes,
  kHeNormalFanOut,  // N(0, sqrt(2 / fan_out)), torchvision's convolutions
  kUniformFanIn,    // U(-1/sqrt(fan_in), 1/sqrt(fan_in)), PyTorch's default for Linear weight and bias
  kQuarters,        // 0.25, PyTorch's for PReLU
  kNormal,          // N(0, Parameter::deviation)
};

/// How a parameter is trained; set by whoever trains, not by its layer. Passes that rewrite networks copy it as a whole
/// (Network::learn_as), so that a member added here is not forgotten by one of them.
struct Learning {
  bool trained = true;  // false: a buffer, or frozen
  double rate = 1;      // factor on the learning rate

  bool operator==(const Learning&) const = default;
};

/// A tensor that belongs to the network: trained, or a buffer (running statistics).
struct Parameter : Learning {
  std::string name = {};  // "layer1.0.conv1.weight"
  Shape shape = {};       // whole shape; empty for the scalar num_batches_tracked
  int layer = 0;          // index of its layer
  Init init = Init::kZeros;
  std::int64_t fan = 0;  // fan_in or fan_out, as `init` needs it
  bool buffer = false;   // running statistics, which are never trained
  double deviation = 0;  // as `init` needs it
};

/// A layer whose result is an output of the network, and the output's name.
struct Output {
  std::string name;  // "boxes"; unique among the outputs
  int layer = 0;     // index of its layer
};

/// Layers are added in topological order; each addition infers its shape and throws Error naming the layer and both
/// shapes when they do not fit.
class Network {
 public:
  Network(std::string model, Shape input);

  /// Adds a layer fed by `inputs` (indices; default: the layer before) and returns its index.
  int add(std::string name, Op op, std::vector<int> inputs = {});

  /// Adds a further input, for stages (passes/cut.h), which may receive several values; returns its index.
  int add_input(std::string name, Shape shape);
  /// Sets Layer::number, the index that a stage's layer has in the whole network.
  void set_number(int layer, int number) { layers_.at(static_cast<std::size_t>(layer)).number = number; }

  /// Marks the result of `layer` as an output of that name, after those marked before. A network that marks none has
  /// one output named "output": its last layer. Throws Error for a name that is empty or taken, and for a layer that
  /// the network doesn't compute.
  void set_output(std::string name, int layer);
  /// Marks an input as an output, for a value that a stage passes on unchanged. Throws as set_output().
  void hand_on(std::string name, int input);
  /// Marks the default output "output", the last layer, so that further outputs can be marked beside it.
  void mark_last_layer();

  /// Makes the network a detector: row i of each of its outputs is about anchor i. Throws Error unless all outputs have
  /// as many rows as there are anchors. None: it is no detector any more.
  void set_anchors(std::vector<Anchor> anchors);

  /// Marks the parameters of these names as not trained. Buffers and other names are passed over.
  void freeze(const std::vector<std::string>& names);
  /// Sets the factor on the learning rate of the parameters of these names. Other names are passed over.
  void set_rates(const std::vector<std::string>& names, double rate);
  /// Copies the Learning of each parameter from the one of the same name in `other`, where there is one. `renamed`:
  /// maps names here to those in `other`, where they differ.
  void learn_as(const Network& other, const std::map<std::string, std::string>& renamed = {});
  /// Freezes the statistics of the batch-norm layers whose names begin with `prefix`; "": of all.
  void freeze_statistics(const std::string& prefix);

  const std::string& model() const { return model_; }  // "resnet34", "mlp:784-256-10"
  const Shape& input_shape() const { return layers_.front().shape; }
  /// Indices of the inputs, ascending: 0, and those that add_input() returned.
  std::vector<int> inputs() const;
  /// The outputs, at least one, in the order in which they were marked.
  const std::vector<Output>& outputs() const { return outputs_; }
  /// For each layer, how many layers and outputs read it.
  std::vector<int> readers() const;
  const Shape& output_shape(const Output& output) const {
    return layers_[static_cast<std::size_t>(output.layer)].shape;
  }
  /// The shape of the first output, which is a classifier's only one.
  const Shape& output_shape() const { return output_shape(outputs_.front()); }
  /// The anchors of a detector, which has the outputs "boxes" (anchors, 4) and "scores" (anchors, 1 + classes), with
  /// the background as class 0; empty: the network is no detector.
  const std::vector<Anchor>& anchors() const { return anchors_; }
  const std::vector<Layer>& layers() const { return layers_; }
  /// All parameters in state-dict order (layer by layer: weight, bias, running_mean, running_var, num_batches_tracked).
  const std::vector<Parameter>& parameters() const { return parameters_; }

 private:
  void require_new_name(const std::string& name) const;
  void mark_output(std::string name, int layer);

  std::string model_;
  std::vector<Layer> layers_;
  std::vector<Parameter> parameters_;
  std::vector<Output> outputs_;
  std::vector<Anchor> anchors_;
  bool outputs_marked_ = false;  // whether outputs were marked; if not, the one output is always the last layer
};

/// Whether some layer's outputs in training depend on which samples are computed together: those of batch-norms.
bool has_batch_norm(const Network& network);

/// The first batch-norm layer that takes statistics in training and has one value of each channel per sample, so that a
/// single sample has no variance; null if there is none.
const Layer* norm_of_one_value(const Network& network);

/// The number of classes that a detector distinguishes, without the background.
std::int64_t detected_classes(const Network& detector);

/// "9 outputs" for a network whose only output is a vector, otherwise all names and shapes: "outputs boxes 4x10x10,
/// scores 2x10x10".
std::string outputs_text(const Network& network);

}  // namespace evener::network
