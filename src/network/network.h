// A network described once: a directed acyclic graph of layers with shapes and named parameters.
// No device and no library in it; engines make it compute.
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

/// Along the rows and along the columns of an image: a window's extent, its stride, the zeros around an image. One
/// number stands for both, as in Conv2d{.kernel = 3}; two are height and width, as in Conv2d{.kernel = {1, 7}}.
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
  /// Of the normal distribution that the first weights are drawn from, biases being 0; 0: torchvision's convolutions.
  double first_deviation = 0;
  int weight_bits = 0;  // see FakeQuantize; 0 = the weights are as they are
};
/// Per-channel normalisation; running statistics follow PyTorch's convention (new = (1 - momentum) old + momentum
/// batch, unbiased variance in the running estimate).
struct BatchNorm {
  double epsilon = 1e-5;
  double momentum = 0.1;
  bool frozen = false;  // in training, too, it normalises by its running statistics, which stay as they are
};
/// kSilu is x sigmoid(x); kHardSigmoid is x / 6 + 1/2 between 0 and 1; kHardSwish is x times that.
enum class ActivationKind { kRelu, kRelu6, kSigmoid, kTanh, kSilu, kHardSwish, kHardSigmoid };
struct Activation {
  ActivationKind kind = ActivationKind::kRelu;
};
/// A ReLU that lets negative values through times its weight (C), one per channel.
struct PRelu {};
/// The largest value under a window, which may reach into padding that is never the largest.
struct MaxPool {
  Extent2d kernel = 2;
  Extent2d stride = 2;
  Extent2d padding = 0;
  /// Whether a window that begins inside the image, or in the padding before it, and ends beyond the padding after it
  /// counts too.
  bool ceil_mode = false;
};
/// The mean under a window.
struct AveragePool {
  Extent2d kernel = 2;
  Extent2d stride = 2;
  Extent2d padding = 0;
  bool ceil_mode = false;         // as MaxPool's; what lies beyond the padding is in no mean
  bool count_include_pad = true;  // whether the zeros of the padding are values of the mean
};
/// Mean over H and W: (C, H, W) -> (C, 1, 1).
struct GlobalAveragePool {};
/// Element-wise sum of its inputs, which have one shape.
struct Add {};
/// Element-wise product of two inputs of one shape, or of an image (C, H, W) with a factor per channel (C, 1, 1).
struct Multiply {};
/// Its input times a number.
struct Scale {
  double factor = 1;
};
/// Its inputs one after the other: images of one height and width along their channels, vectors, or rows of one length.
struct Concat {};
struct Flatten {};
/// What an image says of its pixels as rows of so many values: (A * values, H, W) -> (H * W * A, values), pixel by
/// pixel, and of a pixel its A rows one after the other.
struct Rows {
  std::int64_t values = 1;
};
/// In training, zeros in place of values drawn with this probability, and 1 / (1 - probability) times the others.
struct Dropout {
  double probability = 0.5;
};
/// A dropout of whole samples (Huang et al. 2016), for the branch of a sum; torchvision's mode "row".
struct StochasticDepth {
  double probability = 0.5;
};

/// Every stride-th pixel of an image, and channels of zeros before and after its own, half of them each (one more after
/// where they are odd): the shortcut without parameters of He et al. 2015 ("option A").
struct SubsamplePad {
  std::int64_t out_channels = 0;
  std::int64_t stride = 2;
};

/// Zeros around an image, of which there may be more on one side than on the other: before it (above and to the left),
/// and after it. What TensorFlow pads with "SAME".
struct Pad {
  Extent2d before = 0, after = 0;
};

/// Fake quantisation (Jacob et al. 2018) of activations to 8 bits: the nearest of the values that int8 kernels compute
/// with, scale times a whole number from -128 to 127, or from 0 to 255 (network/quantization.h). The scale is a
/// parameter (1). Weights are quantised by the layer that they belong to: with `weight_bits` it has a parameter
/// "weight_scale" of a scale per output channel.
struct FakeQuantize {
  bool is_signed = true;
};

using Op =
    std::variant<Input, Linear, Conv2d, BatchNorm, Activation, MaxPool, GlobalAveragePool, Add, Flatten, Dropout,
                 SubsamplePad, PRelu, AveragePool, Multiply, Concat, StochasticDepth, Scale, FakeQuantize, Rows, Pad>;

/// "conv2d", "batch_norm", ...
const char* op_name(const Op& op);

struct Layer {
  std::string name;  // as in torchvision's state dict: "layer1.0.conv1"; unique
  Op op;
  std::vector<int> inputs;  // indices of earlier layers
  Shape shape;              // of the output
  int number = 0;           // its index, in a stage that in the whole network: random choices are keyed by it
};

enum class Init {
  kZeros,
  kOnes,
  kHeNormalFanOut,  // N(0, sqrt(2 / fan_out)), torchvision's convolutions
  kUniformFanIn,    // U(-1/sqrt(fan_in), 1/sqrt(fan_in)), PyTorch's default for Linear weight and bias
  kQuarters,        // 0.25, PyTorch's for PReLU
  kNormal,          // N(0, Parameter::deviation)
};

/// How a parameter learns, which whoever trains says of it and its layer doesn't know. Passes that make networks of
/// networks hand it on as a whole (Network::learn_as), so that what is added here reaches them all.
struct Learning {
  bool trained = true;  // false: a buffer, or frozen
  double rate = 1;      // of the learning rate

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

/// A layer whose result the network gives out, and the name by which it is asked for.
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

  /// A further value from outside, for stages of a network (passes/cut.h), which may take several; returns its index.
  int add_input(std::string name, Shape shape);
  /// Gives a layer of a stage the index that it has in the whole network.
  void set_number(int layer, int number) { layers_.at(static_cast<std::size_t>(layer)).number = number; }

  /// Marks the result of `layer` as an output of that name, after those marked before. A network that marks none has
  /// one output named "output": its last layer. Throws Error for a name that is empty or taken, and for a layer that
  /// the network doesn't compute.
  void set_output(std::string name, int layer);
  /// The same for a value from outside, which a stage hands on as it is.
  void hand_on(std::string name, int input);
  /// Marks the output of a network that marks none, so that others can be marked beside it.
  void mark_last_layer();

  /// Makes the network a detector: row i of each of its outputs is about anchor i. Throws Error unless all outputs have
  /// as many rows as there are anchors. None: it is no detector any more.
  void set_anchors(std::vector<Anchor> anchors);

  /// Marks the parameters of these names as not trained. Buffers and other names are passed over.
  void freeze(const std::vector<std::string>& names);
  /// Lets the parameters of these names learn at so much of the rate. Other names are passed over.
  void set_rates(const std::vector<std::string>& names, double rate);
  /// Lets each parameter learn as the one of the same name in `other`, where there is one. `renamed`: from names here
  /// to those in `other`, where they differ.
  void learn_as(const Network& other, const std::map<std::string, std::string>& renamed = {});
  /// Freezes the statistics of the batch-norm layers whose names begin so; "": of all.
  void freeze_statistics(const std::string& prefix);

  const std::string& model() const { return model_; }  // "resnet34", "mlp:784-256-10"
  const Shape& input_shape() const { return layers_.front().shape; }
  /// Indices of the values from outside, ascending: 0, and those of add_input().
  std::vector<int> inputs() const;
  /// At least one, in the order in which they were marked.
  const std::vector<Output>& outputs() const { return outputs_; }
  /// For each layer, how many layers and outputs read it.
  std::vector<int> readers() const;
  const Shape& output_shape(const Output& output) const {
    return layers_[static_cast<std::size_t>(output.layer)].shape;
  }
  /// Of the first output, the only one that a classifier has.
  const Shape& output_shape() const { return output_shape(outputs_.front()); }
  /// Of a detector, which has the outputs "boxes" (anchors, 4) and "scores" (anchors, classes and before them the
  /// background); none: the network is no detector.
  const std::vector<Anchor>& anchors() const { return anchors_; }
  const std::vector<Layer>& layers() const { return layers_; }
  /// In state-dict order (layer by layer: weight, bias, running_mean, running_var, num_batches_tracked).
  const std::vector<Parameter>& parameters() const { return parameters_; }

 private:
  void require_new_name(const std::string& name) const;
  void mark_output(std::string name, int layer);

  std::string model_;
  std::vector<Layer> layers_;
  std::vector<Parameter> parameters_;
  std::vector<Output> outputs_;
  std::vector<Anchor> anchors_;
  bool outputs_marked_ = false;  // whether somebody called set_output; else the one output follows the last layer
};

/// The classes that a detector tells apart, without the background.
std::int64_t detected_classes(const Network& detector);

/// "9 outputs" of a network that puts out one vector, else all names and shapes: "outputs boxes 4x10x10, scores
/// 2x10x10".
std::string outputs_text(const Network& network);

}  // namespace evener::network
