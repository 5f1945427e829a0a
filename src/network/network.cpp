// The graph itself: keeps layers in topological order, and infers their shapes and parameters.
#include "network/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <variant>

#include "base/error.h"
#include "base/names.h"
#include "base/tensor.h"

namespace evener::network {
namespace {

// Far above any real layer, low enough that products of two extents and byte counts stay within int64.
constexpr std::int64_t kMaxExtent = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

bool is_image(const Shape& shape) {
  return shape.size() == 3;
}

// "3", or "1x7" where height and width differ.
std::string extent_text(const Extent2d& extent) {
  return extent.is_square() ? std::to_string(extent.height) : fmt::format("{}x{}", extent.height, extent.width);
}

// A window that slides along one side of an image; PyTorch's pooling_output_shape.
struct Side {
  std::int64_t size, kernel, stride, padding;
  bool ceil_mode;  // whether a last window may reach beyond the padding

  std::int64_t beyond() const { return ceil_mode ? stride - 1 : 0; }
  // The smallest extent of the input for which a window fits.
  std::int64_t least() const { return std::max<std::int64_t>(1, kernel - 2 * padding - beyond()); }
  std::int64_t places() const {
    const std::int64_t count = (size + 2 * padding - kernel + beyond()) / stride + 1;
    const bool last_begins_outside = ceil_mode && (count - 1) * stride >= size + padding;
    return last_begins_outside ? count - 1 : count;
  }
};

// Infers the shape of one layer. Keeps the model, layer and inputs, so that every message can name them.
class Inference {
 public:
  Inference(const std::string& model, const Layer& layer, const std::vector<Shape>& inputs)
      : model_(model), layer_(layer), inputs_(inputs) {}

  Shape operator()(const Input&) const { fail("is the input, which a network has once"); }

  Shape operator()(const Linear& op) const {
    require_positive(op.out_features, "out_features");
    require_weight_bits(op.weight_bits);
    const Shape& in = only_input();
    if (in.size() != 1) fail("needs a vector (F)", "; put a flatten layer before it");
    return {op.out_features};
  }

  Shape operator()(const Conv2d& op) const {
    require_positive(op.out_channels, "out_channels");
    require_positive(op.groups, "groups");
    require_weight_bits(op.weight_bits);
    const Shape& in = image_input();
    if (in[0] % op.groups != 0 || op.out_channels % op.groups != 0) {
      fail(fmt::format("divides {} input and {} output channels into {} groups, which doesn't come out even", in[0],
                       op.out_channels, op.groups));
    }
    return windows_of(op.out_channels, op.kernel, op.stride, op.padding, false);
  }

  Shape operator()(const BatchNorm&) const { return only_input(); }
  Shape operator()(const Activation&) const { return only_input(); }
  Shape operator()(const PRelu&) const { return only_input(); }
  Shape operator()(const Scale&) const { return only_input(); }
  Shape operator()(const FakeQuantize&) const { return only_input(); }
  Shape operator()(const Dropout& op) const { return dropped(op.probability); }
  Shape operator()(const StochasticDepth& op) const { return dropped(op.probability); }

  Shape operator()(const MaxPool& op) const { return pooled(op); }
  Shape operator()(const AveragePool& op) const { return pooled(op); }

  Shape operator()(const GlobalAveragePool&) const { return {image_input()[0], 1, 1}; }

  Shape operator()(const Add&) const {
    if (inputs_.size() < 2) fail("needs at least two inputs");
    for (const Shape& in : inputs_) {
      if (in != inputs_.front()) fail("needs inputs of one shape");
    }
    return inputs_.front();
  }

  Shape operator()(const Multiply&) const {
    if (inputs_.size() != 2) fail("needs exactly two inputs");
    const Shape &first = inputs_[0], &second = inputs_[1];
    const auto scales = [](const Shape& factor, const Shape& image) {
      return is_image(factor) && is_image(image) && factor == Shape{image[0], 1, 1};
    };
    if (first == second || scales(second, first)) return first;
    if (!scales(first, second)) fail("needs inputs of one shape, or an image and a factor per channel (C, 1, 1)");
    return second;
  }

  Shape operator()(const Concat&) const {
    if (inputs_.size() < 2) fail("needs at least two inputs");
    Shape joined = inputs_.front();
    joined[0] = 0;
    for (const Shape& in : inputs_) {
      if (!std::equal(in.begin() + 1, in.end(), joined.begin() + 1, joined.end())) {
        fail("needs images of one height and width, vectors, or rows of one length");
      }
      joined[0] += in[0];
    }
    return joined;
  }

  Shape operator()(const Rows& op) const {
    require_positive(op.values, "values");
    const Shape& in = image_input();
    if (in[0] % op.values != 0) {
      fail(fmt::format("makes rows of {} values, which doesn't come out even with {} channels", op.values, in[0]));
    }
    return {in[1] * in[2] * (in[0] / op.values), op.values};
  }

  Shape operator()(const SubsamplePad& op) const {
    require_positive(op.out_channels, "out_channels");
    require_positive(op.stride, "stride");
    const Shape& in = image_input();
    if (op.out_channels < in[0]) {
      fail(fmt::format("puts out {} channels, fewer than it takes, but it can only add some", op.out_channels));
    }
    return {op.out_channels, (in[1] - 1) / op.stride + 1, (in[2] - 1) / op.stride + 1};
  }

  Shape operator()(const Pad& op) const {
    const Shape& in = image_input();
    for (const std::int64_t side : {op.before.height, op.before.width, op.after.height, op.after.width}) {
      if (side < 0 || side > kMaxExtent) fail(fmt::format("needs 0 or more rows and columns, not {}", side));
    }
    return {in[0], in[1] + op.before.height + op.after.height, in[2] + op.before.width + op.after.width};
  }

  Shape operator()(const Flatten&) const { return {element_count(only_input())}; }

  [[noreturn]] void fail(const std::string& need, const std::string& remedy = "") const {
    std::string got;
    for (const Shape& in : inputs_) got += (got.empty() ? "" : " and ") + shape_text(in);
    throw Error(fmt::format("{}: layer '{}' ({}) {}; it got {}{}", model_, layer_.name, op_name(layer_.op), need,
                            got.empty() ? "no input" : got, remedy));
  }

 private:
  const Shape& only_input() const {
    if (inputs_.size() != 1) fail("needs exactly one input");
    return inputs_.front();
  }

  const Shape& image_input() const {
    const Shape& in = only_input();
    if (!is_image(in)) fail("needs an image (C, H, W)");
    return in;
  }

  void require_positive(std::int64_t value, const char* what) const {
    if (value < 1 || value > kMaxExtent) {
      fail(fmt::format("needs {} from 1 to {}, not {}", what, kMaxExtent, value));
    }
  }

  void require_weight_bits(int bits) const {
    if (bits != 0 && (bits < 2 || bits > 8)) fail(fmt::format("needs weights of 2 to 8 bits, not {}", bits));
  }

  Shape dropped(double probability) const {
    if (!(probability >= 0 && probability < 1)) {
      fail(fmt::format("needs a probability of at least 0 and below 1, not {}", probability));
    }
    return only_input();
  }

  // The shape of both kinds of pooling, whose windows may not lie entirely in the padding.
  template <class Pool>
  Shape pooled(const Pool& op) const {
    const Shape& in = image_input();
    if (op.padding.height > op.kernel.height / 2 || op.padding.width > op.kernel.width / 2) {
      fail(fmt::format("pads {} pixels, more than half of its kernel of {}", extent_text(op.padding),
                       extent_text(op.kernel)));
    }
    return windows_of(in[0], op.kernel, op.stride, op.padding, op.ceil_mode);
  }

  // The shape of `channels` values for each place of a window over the input.
  Shape windows_of(std::int64_t channels, const Extent2d& kernel, const Extent2d& stride, const Extent2d& padding,
                   bool ceil_mode) const {
    for (const std::int64_t side : {kernel.height, kernel.width}) require_positive(side, "kernel");
    for (const std::int64_t side : {stride.height, stride.width}) require_positive(side, "stride");
    for (const std::int64_t side : {padding.height, padding.width}) {
      if (side < 0 || side > kMaxExtent) fail(fmt::format("needs a padding of 0 or more, not {}", side));
    }
    const Shape& in = inputs_.front();
    const Side rows{in[1], kernel.height, stride.height, padding.height, ceil_mode};
    const Side columns{in[2], kernel.width, stride.width, padding.width, ceil_mode};
    if (in[1] < rows.least() || in[2] < columns.least()) {
      fail(fmt::format("needs an image of at least {}x{}x{} (C, H, W) for its kernel of {} and padding of {}", in[0],
                       rows.least(), columns.least(), extent_text(kernel), extent_text(padding)),
           "; use a larger input size");
    }
    return {channels, rows.places(), columns.places()};
  }

  const std::string& model_;
  const Layer& layer_;
  const std::vector<Shape>& inputs_;
};

// Fills in name, layer and the trained flag of each tensor.
class Tensors {
 public:
  Tensors(const Layer& layer, int index) : layer_(layer), index_(index) {}

  void trained(const char* suffix, Shape shape, Init init, std::int64_t fan = 0, double deviation = 0) {
    list_.push_back({{true}, layer_.name + suffix, std::move(shape), index_, init, fan, false, deviation});
  }
  void buffer(const char* suffix, Shape shape, Init init) {
    list_.push_back({{false}, layer_.name + suffix, std::move(shape), index_, init, 0, true, 0});
  }
  std::vector<Parameter> take() { return std::move(list_); }

 private:
  const Layer& layer_;
  int index_;
  std::vector<Parameter> list_;
};

/// The parameters and buffers of `layer` in state-dict order; `index` is the layer's index in the network, `input` the
/// shape of its first input.
std::vector<Parameter> layer_parameters(const Layer& layer, int index, const Shape& input) {
  Tensors tensors(layer, index);
  if (const auto* linear = std::get_if<Linear>(&layer.op)) {
    const std::int64_t in = input[0];
    tensors.trained(".weight", {linear->out_features, in}, Init::kUniformFanIn, in);
    if (linear->bias) tensors.trained(".bias", {linear->out_features}, Init::kUniformFanIn, in);
    if (linear->weight_bits > 0) tensors.trained(".weight_scale", {linear->out_features}, Init::kOnes);
  } else if (const auto* conv = std::get_if<Conv2d>(&layer.op)) {
    // torchvision's fan_out is weight.size(0) * kernel area, whatever the groups (torch.nn.init, kaiming_normal_).
    const std::int64_t area = conv->kernel.area();
    const std::int64_t in = input[0] / conv->groups;
    const bool given = conv->first_deviation > 0;
    tensors.trained(".weight", {conv->out_channels, in, conv->kernel.height, conv->kernel.width},
                    given ? Init::kNormal : Init::kHeNormalFanOut, conv->out_channels * area, conv->first_deviation);
    if (conv->bias)
      tensors.trained(".bias", {conv->out_channels}, given ? Init::kZeros : Init::kUniformFanIn, in * area);
    if (conv->weight_bits > 0) tensors.trained(".weight_scale", {conv->out_channels}, Init::kOnes);
  } else if (std::holds_alternative<BatchNorm>(layer.op)) {
    const Shape channels = {input[0]};
    tensors.trained(".weight", channels, Init::kOnes);
    tensors.trained(".bias", channels, Init::kZeros);
    tensors.buffer(".running_mean", channels, Init::kZeros);
    tensors.buffer(".running_var", channels, Init::kOnes);
    tensors.buffer(".num_batches_tracked", {}, Init::kZeros);
  } else if (std::holds_alternative<PRelu>(layer.op)) {
    tensors.trained(".weight", {input[0]}, Init::kQuarters);
  } else if (std::holds_alternative<FakeQuantize>(layer.op)) {
    tensors.trained(".scale", {1}, Init::kOnes);
  }
  return tensors.take();
}

/// Output shape of `layer` (its name and op) fed with `inputs`. Throws Error naming `model`, the layer, the shape that
/// it needs and the one that it got.
Shape infer_shape(const std::string& model, const Layer& layer, const std::vector<Shape>& inputs) {
  const Inference inference(model, layer, inputs);
  const Shape shape = std::visit(inference, layer.op);
  const auto is_too_large = [](const Shape& extents) {
    double elements = 1;  // in floating point, where a product can't overflow
    for (const std::int64_t extent : extents) elements *= static_cast<double>(extent);
    return elements > static_cast<double>(kMaxElements);
  };
  if (is_too_large(shape)) {
    inference.fail(fmt::format("would put out {}, more than {} values", shape_text(shape), kMaxElements));
  }
  for (const Parameter& parameter : layer_parameters(layer, 0, inputs.front())) {
    if (is_too_large(parameter.shape)) {
      inference.fail(fmt::format("would have {} of {}, more than {} values", parameter.name,
                                 shape_text(parameter.shape), kMaxElements));
    }
  }
  return shape;
}

// In the order of the alternatives of Op.
constexpr std::array<const char*, std::variant_size_v<Op>> kOpNames = {
    "input",  "linear",           "conv2d",  "batch_norm",    "activation", "max_pool", "global_pool",
    "add",    "flatten",          "dropout", "subsample_pad", "prelu",      "avg_pool", "multiply",
    "concat", "stochastic_depth", "scale",   "fake_quantize", "rows",       "pad"};

bool takes_statistics(const Layer& layer) {
  const auto* norm = std::get_if<BatchNorm>(&layer.op);
  return norm != nullptr && !norm->frozen;
}

constexpr std::int64_t kMaxInputExtent = 1 << 20;  // a million pixels a side

constexpr const char* kActivations[] = {"relu", "relu6", "sigmoid", "tanh", "silu", "hard_swish", "hard_sigmoid"};

}  // namespace

const char* op_name(const Op& op) {
  if (const auto* activation = std::get_if<Activation>(&op)) return name_in(kActivations, activation->kind);
  return kOpNames[op.index()];
}

Network::Network(std::string model, Shape input) : model_(std::move(model)) {
  const bool fits = (input.size() == 1 || input.size() == 3) && std::ranges::all_of(input, [](std::int64_t extent) {
                      return extent >= 1 && extent <= kMaxInputExtent;
                    });
  if (!fits) {
    throw Error(
        fmt::format("{}: the input must be a vector (F) or an image (C, H, W) with extents from 1 to {}; it is {}",
                    model_, kMaxInputExtent, shape_text(input)));
  }
  layers_.push_back({"input", Input{}, {}, std::move(input)});
  outputs_.push_back({"output", 0});
}

void Network::require_new_name(const std::string& name) const {
  const bool taken = std::ranges::any_of(layers_, [&](const Layer& layer) { return layer.name == name; });
  if (!name.empty() && !taken) return;
  throw Error(fmt::format("{}: layer {} needs a name of its own, '{}' is {}", model_, layers_.size(), name,
                          taken ? "taken" : "empty"));
}

int Network::add_input(std::string name, Shape shape) {
  require_new_name(name);
  const int index = static_cast<int>(layers_.size());
  layers_.push_back({std::move(name), Input{}, {}, std::move(shape), index});
  return index;
}

std::vector<int> Network::inputs() const {
  std::vector<int> found;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (std::holds_alternative<Input>(layers_[i].op)) found.push_back(static_cast<int>(i));
  }
  return found;
}

int Network::add(std::string name, Op op, std::vector<int> inputs) {
  const int index = static_cast<int>(layers_.size());
  if (inputs.empty()) inputs.push_back(index - 1);
  require_new_name(name);
  std::vector<Shape> shapes;
  for (const int input : inputs) {
    if (input < 0 || input >= index) {
      throw Error(fmt::format("{}: layer '{}' is fed by layer {}, but only layers 0 to {} come before it", model_, name,
                              input, index - 1));
    }
    shapes.push_back(layers_[static_cast<std::size_t>(input)].shape);
  }
  Layer layer{std::move(name), std::move(op), std::move(inputs), {}, index};
  layer.shape = infer_shape(model_, layer, shapes);
  std::ranges::move(layer_parameters(layer, index, shapes.front()), std::back_inserter(parameters_));
  layers_.push_back(std::move(layer));
  if (!outputs_marked_) outputs_.front().layer = index;
  return index;
}

void Network::set_output(std::string name, int layer) {
  if (layer < 1 || layer >= static_cast<int>(layers_.size())) {
    throw Error(fmt::format("{}: output '{}' is to be layer {}, but the layers that are computed are 1 to {}", model_,
                            name, layer, layers_.size() - 1));
  }
  mark_output(std::move(name), layer);
}

void Network::hand_on(std::string name, int input) {
  const bool given = input >= 0 && input < static_cast<int>(layers_.size()) &&
                     std::holds_alternative<Input>(layers_[static_cast<std::size_t>(input)].op);
  if (!given) throw Error(fmt::format("{}: layer {} is to be handed on, but it is no input", model_, input));
  mark_output(std::move(name), input);
}

void Network::mark_output(std::string name, int layer) {
  const auto has_name = [&](const Output& output) { return output.name == name; };
  const bool taken = outputs_marked_ && std::ranges::any_of(outputs_, has_name);
  if (name.empty() || taken) {
    throw Error(
        fmt::format("{}: an output needs a name of its own, '{}' is {}", model_, name, taken ? "taken" : "empty"));
  }
  if (!outputs_marked_) outputs_.clear();
  outputs_marked_ = true;
  outputs_.push_back({std::move(name), layer});
}

void Network::mark_last_layer() {
  if (outputs_marked_) return;
  const Output last = outputs_.front();
  set_output(last.name, last.layer);
}

void Network::set_anchors(std::vector<Anchor> anchors) {
  for (const Output& output : outputs_) {
    const Shape& shape = output_shape(output);
    if (anchors.empty() || (shape.size() == 2 && shape[0] == static_cast<std::int64_t>(anchors.size()))) continue;
    throw Error(fmt::format("{}: {} anchors need outputs with as many rows, but '{}' is {}", model_, anchors.size(),
                            output.name, shape_text(shape)));
  }
  anchors_ = std::move(anchors);
}

std::vector<int> Network::readers() const {
  std::vector<int> count(layers_.size());
  for (const Layer& layer : layers_) {
    for (const int input : layer.inputs) ++count[static_cast<std::size_t>(input)];
  }
  for (const Output& output : outputs()) ++count[static_cast<std::size_t>(output.layer)];
  return count;
}

void Network::freeze(const std::vector<std::string>& names) {
  for (Parameter& parameter : parameters_) {
    if (std::ranges::find(names, parameter.name) != names.end()) parameter.trained = false;
  }
}

void Network::set_rates(const std::vector<std::string>& names, double rate) {
  for (Parameter& parameter : parameters_) {
    if (std::ranges::find(names, parameter.name) != names.end()) parameter.rate = rate;
  }
}

void Network::learn_as(const Network& other, const std::map<std::string, std::string>& renamed) {
  std::map<std::string, const Learning*> known;
  for (const Parameter& parameter : other.parameters()) known.emplace(parameter.name, &parameter);
  for (Parameter& parameter : parameters_) {
    const auto name = renamed.find(parameter.name);
    const auto found = known.find(name == renamed.end() ? parameter.name : name->second);
    if (found != known.end()) static_cast<Learning&>(parameter) = *found->second;
  }
}

void Network::freeze_statistics(const std::string& prefix) {
  for (Layer& layer : layers_) {
    if (auto* norm = std::get_if<BatchNorm>(&layer.op); norm != nullptr && layer.name.starts_with(prefix)) {
      norm->frozen = true;
    }
  }
}

bool has_batch_norm(const Network& network) {
  return std::ranges::any_of(network.layers(), takes_statistics);
}

const Layer* norm_of_one_value(const Network& network) {
  const auto found = std::ranges::find_if(network.layers(), [](const Layer& layer) {
    const bool one_value = layer.shape.size() <= 1 || layer.shape[1] * layer.shape[2] == 1;
    return one_value && takes_statistics(layer);
  });
  return found != network.layers().end() ? &*found : nullptr;
}

std::int64_t detected_classes(const Network& detector) {
  const auto found = std::ranges::find(detector.outputs(), "scores", &Output::name);
  if (found == detector.outputs().end() || detector.anchors().empty()) {
    throw Error(detector.model() + " is no detector: it has no scores of boxes");
  }
  return detector.output_shape(*found).back() - 1;
}

std::string outputs_text(const Network& network) {
  const std::vector<Output>& outputs = network.outputs();
  if (outputs.size() == 1 && network.output_shape().size() == 1) {
    return fmt::format("{} outputs", network.output_shape().front());
  }
  std::string text;
  for (const Output& output : outputs) {
    text += (text.empty() ? "" : ", ") + output.name + " " + shape_text(network.output_shape(output));
  }
  return (outputs.size() == 1 ? "output " : "outputs ") + text;
}

}  // namespace evener::network
