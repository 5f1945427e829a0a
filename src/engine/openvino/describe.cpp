// Converts the graph of a file to a Network: the inverse of lower.cpp.
#include <algorithm>
#include <cmath>
#include <map>
#include <openvino/core/model.hpp>
#include <openvino/op/util/avg_pool_base.hpp>
#include <openvino/op/util/max_pool_base.hpp>
#include <openvino/op/util/pad_base.hpp>
#include <openvino/opsets/opset14.hpp>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "engine/model_file.h"
#include "engine/openvino/graphs.h"

namespace evener::engine::openvino_engine {
namespace {

using namespace network;
namespace op = ov::opset14;
using NodePtr = std::shared_ptr<ov::Node>;
using Floats = std::vector<float>;

template <class Sizes>
Extent2d extent_of(const Sizes& sizes) {
  return {static_cast<std::int64_t>(sizes.at(0)), static_cast<std::int64_t>(sizes.at(1))};
}

bool is_one_value(const Floats& values, float wanted) {
  constexpr float kClose = 1e-4F;
  return values.size() == 1 && std::abs(values.front() - wanted) < kClose;
}

/// Whether a window is dilated. `Windows`: a kind of node that may be.
template <class Windows>
bool has_gaps(const NodePtr& node) {
  const auto windows = ov::as_type_ptr<Windows>(node);
  if (windows == nullptr) return false;
  for (const auto step : windows->get_dilations()) {
    if (step != 1) return true;
  }
  return false;
}

/// The network's layer that has a node's result.
struct Place {
  int layer = 0;
  bool channels_last = false;     // the graph has the value as (N, H, W, C), the network always as (N, C, H, W)
  bool is_probabilities = false;  // a softmax was left out, which the network leaves to its caller
};

/// The shape of a value without the batch.
Shape sample_shape(const ov::Output<ov::Node>& value) {
  const ov::Shape& whole = value.get_shape();
  Shape shape;
  for (std::size_t i = 1; i < whole.size(); ++i) shape.push_back(static_cast<std::int64_t>(whole[i]));
  return shape;
}

/// The only node that reads `node`, and the index of its input that does; null where there are several readers.
std::pair<NodePtr, std::size_t> only_reader(const NodePtr& node) {
  const auto readers = node->output(0).get_target_inputs();
  if (readers.size() != 1) return {};
  return {readers.begin()->get_node()->shared_from_this(), readers.begin()->get_index()};
}

/// Converts one node after the other. Throws Error for a node that has no counterpart in our networks. To support a
/// further operation, add a case to passed(), with_weights(), window(), activation_kind() or joined().
class Description {
 public:
  Description(const ov::Model& graph, const std::string& name, const ModelInput& input)
      : name_(name),
        is_image_(input.is_image),
        black_(black_of(graph.input().get_element_type())),
        constants_(graph),
        described_{.network = Network(name, input.shape)} {
    const ov::Output<const ov::Node> given = graph.input();
    const bool is_last = input.is_image && input.channels == ChannelPlace::kLast;
    places_[given.get_node()] = {0, is_last, false};
  }

  DescribedNetwork of(const ov::Model& graph, const std::vector<std::string>& outputs) {
    for (const NodePtr& node : graph.get_ordered_ops()) {
      const bool is_known = places_.contains(node.get()) || constants_.contains(node->output(0));
      if (!is_known && !ov::is_type<op::Result>(node)) places_[node.get()] = checked(place_of(node), node);
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Place place = place_at(graph.get_results().at(i), 0);
      if (place.channels_last) fail(graph.get_results().at(i));
      described_.network.set_output(outputs[i], place.layer);
    }
    if (black_ && !described_.pixels) {
      throw Error(name_ + " takes bytes, and nothing in it tells what they stand for");
    }
    return std::move(described_);
  }

 private:
  [[noreturn]] void fail(const NodePtr& node) const {
    throw Error(name_ + " has a layer '" + node->get_friendly_name() + "' of the kind " + node->get_type_name() +
                " that our networks don't have in this form: only convolutions, linear layers, batch-norms, pooling, "
                "sums, products, concatenations and the usual activations can be quantised");
  }

  Place place_at(const NodePtr& node, std::size_t input) const {
    const auto found = places_.find(node->get_input_node_ptr(input));
    if (found == places_.end() || node->get_input_source_output(input).get_index() != 0) fail(node);
    return found->second;
  }

  const Shape& shape_at(const NodePtr& node, std::size_t input) const { return shape_of(place_at(node, input).layer); }
  const Shape& shape_of(int layer) const { return described_.network.layers()[static_cast<std::size_t>(layer)].shape; }
  bool is_constant(const NodePtr& node, std::size_t input) const {
    return constants_.contains(node->input_value(input));
  }
  Floats floats(const NodePtr& node, std::size_t input) const { return constants_.floats(node->input_value(input)); }
  /// The index of the input that isn't constant, for a node with two inputs.
  std::size_t variable_of(const NodePtr& node) const { return is_constant(node, 0) ? 1 : 0; }

  /// The layer that computes an input of `node`.
  int layer_at(const NodePtr& node, std::size_t input = 0) const {
    const Place place = place_at(node, input);
    if (place.channels_last || place.is_probabilities) fail(node);
    return place.layer;
  }

  std::string unique_name(const NodePtr& node) {
    std::string name = node->get_friendly_name();
    while (!names_.insert(name).second) name += '_';
    return name;
  }

  Place add(std::string name, Op layer, std::vector<int> inputs) {
    return {described_.network.add(std::move(name), std::move(layer), std::move(inputs))};
  }

  Place add(const NodePtr& node, Op layer, std::size_t input = 0) {
    return add(unique_name(node), std::move(layer), {layer_at(node, input)});
  }

  void set(const std::string& name, std::vector<std::int64_t> shape, const Floats& values) {
    if (static_cast<std::size_t>(element_count(shape)) != values.size()) {
      throw Error(name_ + ": '" + name + "' has " + std::to_string(values.size()) + " values and not " +
                  shape_text(shape));
    }
    described_.state[name] = HostTensor::of_floats(std::move(shape), values);
  }

  /// Throws Error unless the graph and the network give a layer the same shape: they would differ in how they compute
  /// it.
  Place checked(const Place& place, const NodePtr& node) const {
    if (!place.channels_last && shape_of(place.layer) != sample_shape(node->output(0))) fail(node);
    return place;
  }

  Place place_of(const NodePtr& node) {
    if (const auto found = passed(node)) return *found;
    if (const auto found = with_weights(node)) return *found;
    if (const auto found = window(node)) return *found;
    if (const auto kind = activation_kind(node)) return add(node, Activation{*kind}, variable_of(node));
    if (const auto found = joined(node)) return *found;
    fail(node);
  }

  // Each of these converts some kinds of nodes, and returns nothing for others.
  /// Nodes that change no value: conversions of types, layouts and shapes, the fake quantisation of quantised files;
  /// and the softmax.
  std::optional<Place> passed(const NodePtr& node) {
    if (ov::is_type<op::Convert>(node)) return place_at(node, 0);
    if (is_times_one(node) || is_limited_to_six(node)) return place_at(node, variable_of(node));
    if (ov::is_type<op::FakeQuantize>(node)) return without_rounding(node);
    if (ov::is_type<op::Transpose>(node)) return transposed(node);
    if (ov::is_type<op::Reshape>(node) || ov::is_type<op::Squeeze>(node) || ov::is_type<op::Unsqueeze>(node)) {
      return reshaped(node);
    }
    if (ov::is_type<op::Softmax>(node) || ov::is_type<ov::op::v1::Softmax>(node)) {
      Place place = place_at(node, 0);
      if (place.channels_last || shape_of(place.layer).size() != 1) fail(node);
      place.is_probabilities = true;
      return place;
    }
    return {};
  }

  std::optional<Place> with_weights(const NodePtr& node) {
    if (const auto conv = ov::as_type_ptr<op::Convolution>(node)) return convolution(*conv, node, 1);
    if (const auto conv = ov::as_type_ptr<op::GroupConvolution>(node)) {
      return convolution(*conv, node, static_cast<std::int64_t>(conv->get_input_shape(1).at(0)));
    }
    if (const auto product = ov::as_type_ptr<op::MatMul>(node)) return linear(*product, node);
    if (const auto norm = ov::as_type_ptr<op::BatchNormInference>(node)) return batch_norm(*norm, node);
    if (ov::is_type<op::PRelu>(node)) {
      const std::string name = unique_name(node);
      set(name + ".weight", {shape_at(node, 0).front()}, floats(node, 1));
      return add(name, PRelu{}, {layer_at(node)});
    }
    return {};
  }

  std::optional<Place> window(const NodePtr& node) {
    if (has_gaps<ov::op::v8::MaxPool>(node) || has_gaps<ov::op::v14::MaxPool>(node) ||
        has_gaps<ov::op::v16::AvgPool>(node)) {
      fail(node);
    }
    if (const auto pool = ov::as_type_ptr<ov::op::util::AvgPoolBase>(node)) return average(*pool, node);
    if (const auto pool = ov::as_type_ptr<ov::op::util::MaxPoolBase>(node)) {
      if (pool->get_pads_begin() != pool->get_pads_end()) fail(node);
      return add(node, MaxPool{.kernel = extent_of(pool->get_kernel()),
                               .stride = extent_of(pool->get_strides()),
                               .padding = extent_of(pool->get_pads_begin()),
                               .ceil_mode = pool->get_rounding_type() != ov::op::RoundingType::FLOOR});
    }
    if (const auto reduced = ov::as_type_ptr<op::ReduceMean>(node)) return mean(*reduced, node);
    if (const auto padded = ov::as_type_ptr<ov::op::util::PadBase>(node)) return pad(*padded, node);
    return {};
  }

  std::optional<Place> joined(const NodePtr& node) {
    if (const auto concat = ov::as_type_ptr<op::Concat>(node)) {
      if (concat->get_axis() != 1) fail(node);
      std::vector<int> parts;
      for (std::size_t i = 0; i < node->get_input_size(); ++i) parts.push_back(layer_at(node, i));
      return add(unique_name(node), Concat{}, parts);
    }
    if (ov::is_type<op::Add>(node)) {
      if (biases_.contains(node.get())) return place_at(node, variable_of(node));
      if (const auto input = scaled_input(node)) return input;
      return add(unique_name(node), Add{}, {layer_at(node, 0), layer_at(node, 1)});
    }
    if (ov::is_type<op::Multiply>(node)) return product(node);
    return {};
  }

  Place without_rounding(const NodePtr& node) {
    constexpr float kSameRange = 1e-3F;
    described_.was_quantized = true;
    const Place place = place_at(node, 0);
    const Floats from_least = floats(node, 1), from_most = floats(node, 2), least = floats(node, 3),
                 most = floats(node, 4);
    bool is_same = from_least.size() == least.size() && from_most.size() == most.size();
    for (std::size_t i = 0; is_same && i < least.size() && i < most.size(); ++i) {
      const float close = kSameRange * (most[i] - least[i]);
      is_same = std::abs(from_least[i] - least[i]) <= close && std::abs(from_most[i] - most[i]) <= close;
    }
    if (is_same || place.is_probabilities) return place;
    const bool is_of_pixels = place.layer == 0 && is_image_ && black_ && !described_.pixels;
    if (!is_of_pixels || from_least.size() + from_most.size() + least.size() + most.size() != 4) {
      throw Error(name_ +
                  " is quantised already, in a form that doesn't tell its float network: quantise the network "
                  "that it was made of");
    }
    const auto [scale, shift] = map_between(from_least.front(), from_most.front(), least.front(), most.front());
    const auto channels = static_cast<std::size_t>(shape_of(0).front());
    scale_pixels(Floats(channels, scale), Floats(channels, shift));
    return place;
  }

  /// Notes a scaling of each channel's pixels, after those noted before.
  void scale_pixels(const Floats& scale, const Floats& shift) {
    if (!described_.pixels) {
      described_.pixels = PixelScale{Floats(scale.size(), 1), Floats(scale.size(), black_.value_or(0))};
    }
    for (std::size_t c = 0; c < scale.size(); ++c) {
      described_.pixels->scale[c] *= scale[c];
      described_.pixels->shift[c] = described_.pixels->shift[c] * scale[c] + shift[c];
    }
  }

  /// A factor or a summand for each channel of the network's input: it becomes part of the normalisation, not of the
  /// network.
  std::optional<Place> scaled_input(const NodePtr& node) {
    const std::size_t constant = is_constant(node, 0) ? 0 : 1;
    if (!is_constant(node, constant) || !is_image_) return {};
    const Place place = place_at(node, 1 - constant);
    const Floats values = floats(node, constant);
    const ov::Shape& shape = node->get_input_shape(constant);
    const bool is_per_channel = shape.size() >= 3 && shape[shape.size() - 3] == values.size() &&
                                std::ssize(values) == described_.network.input_shape().front();
    const bool is_only_reader = node->get_input_source_output(1 - constant).get_target_inputs().size() == 1;
    if (place.layer != 0 || place.channels_last || !is_per_channel || !is_only_reader) return {};
    const bool is_factor = ov::is_type<op::Multiply>(node);
    if (is_factor && std::ranges::any_of(values, [](float value) { return !(value > 0); })) fail(node);
    scale_pixels(is_factor ? values : Floats(values.size(), 1), is_factor ? Floats(values.size(), 0) : values);
    return place;
  }

  Place transposed(const NodePtr& node) const {
    const std::vector<std::int64_t> order = constants_.integers(node->input_value(1));
    Place place = place_at(node, 0);
    if (std::ranges::is_sorted(order)) return place;
    if (!place.channels_last || order != std::vector<std::int64_t>{0, 3, 1, 2}) fail(node);
    place.channels_last = false;
    return place;
  }

  Place reshaped(const NodePtr& node) {
    const Place place = place_at(node, 0);
    const Shape &before = shape_of(place.layer), after = sample_shape(node->output(0));
    if (node->get_output_shape(0).empty() || node->get_output_shape(0).front() != 1 || place.channels_last) fail(node);
    if (before == after) return place;
    if (after.size() != 1 || after.front() != element_count(before) || place.is_probabilities) fail(node);
    return add(node, Flatten{});
  }

  /// Whether the node multiplies by 1, as the factor alpha of ONNX's Gemm mostly does.
  bool is_times_one(const NodePtr& node) const {
    if (!ov::is_type<op::Multiply>(node)) return false;
    const std::size_t factor = is_constant(node, 0) ? 0 : 1;
    return is_constant(node, factor) && floats(node, factor) == Floats{1};
  }

  template <class Node>
  Place convolution(const Node& conv, const NodePtr& node, std::int64_t groups) {
    if (conv.get_strides().size() != 2 || has_gaps<Node>(node)) fail(node);
    const std::string name = unique_name(node);
    const std::int64_t in_channels = shape_at(node, 0).front();  // no reference: a layer may be added below
    const ov::Shape& weight = node->get_input_shape(1);
    Conv2d op{.out_channels = sample_shape(node->output(0)).front(),
              .kernel = {static_cast<std::int64_t>(weight[weight.size() - 2]),
                         static_cast<std::int64_t>(weight[weight.size() - 1])},
              .stride = extent_of(conv.get_strides()),
              .groups = groups};
    int input = layer_at(node);
    const Extent2d before = extent_of(conv.get_pads_begin()), after = extent_of(conv.get_pads_end());
    if (before == after) {
      op.padding = before;
    } else {
      input = add(name + ".pad", Pad{before, after}, {input}).layer;
    }
    const std::optional<Floats> bias = bias_after(node, op.out_channels);
    op.bias = bias.has_value();
    set(name + ".weight", {op.out_channels, in_channels / groups, op.kernel.height, op.kernel.width}, floats(node, 1));
    if (bias) set(name + ".bias", {op.out_channels}, *bias);
    return add(name, op, {input});
  }

  Place linear(const op::MatMul& product, const NodePtr& node) {
    if (product.get_transpose_a() || !is_constant(node, 1) || node->get_input_shape(1).size() != 2) fail(node);
    const std::string name = unique_name(node);
    const Shape& in = shape_at(node, 0);
    Linear op{.out_features = sample_shape(node->output(0)).front()};
    Floats weight = floats(node, 1);
    const auto rows = static_cast<std::size_t>(op.out_features), columns = static_cast<std::size_t>(in.front());
    if (!product.get_transpose_b() && weight.size() == rows * columns) {
      Floats turned(weight.size());
      for (std::size_t i = 0; i < weight.size(); ++i) turned[i % rows * columns + i / rows] = weight[i];
      weight = std::move(turned);
    }
    const std::optional<Floats> bias = bias_after(node, op.out_features);
    op.bias = bias.has_value();
    set(name + ".weight", {op.out_features, in.front()}, weight);
    if (bias) set(name + ".bias", {op.out_features}, *bias);
    return add(name, op, {layer_at(node)});
  }

  Place batch_norm(const op::BatchNormInference& norm, const NodePtr& node) {
    const std::string name = unique_name(node);
    const std::int64_t channels = shape_at(node, 0).front();
    const char* names[] = {".weight", ".bias", ".running_mean", ".running_var"};
    for (std::size_t i = 0; i < 4; ++i) set(name + names[i], {channels}, floats(node, i + 1));
    described_.state[name + ".num_batches_tracked"] = HostTensor::scalar_i64(0);
    return add(name, BatchNorm{.epsilon = norm.get_eps_value()}, {layer_at(node)});
  }

  /// The bias: what the only reader of `node` adds to each channel. That sum is then this layer's result.
  std::optional<Floats> bias_after(const NodePtr& node, std::int64_t channels) {
    auto [sum, index] = only_reader(node);
    while (sum != nullptr && is_times_one(sum)) std::tie(sum, index) = only_reader(sum);
    if (sum == nullptr || !ov::is_type<op::Add>(sum)) return {};
    const std::size_t other = 1 - index;
    if (!is_constant(sum, other) || sum->get_output_shape(0) != node->get_output_shape(0)) return {};
    Floats values = floats(sum, other);
    const ov::Shape& shape = sum->get_input_shape(other);
    const std::size_t from_end = node->get_output_shape(0).size() - 1;  // where the channels are
    const bool per_channel = shape.size() >= from_end && shape[shape.size() - from_end] == values.size();
    if (values.size() != 1 && !per_channel) return {};
    if (values.size() == 1) values.assign(static_cast<std::size_t>(channels), values.front());
    if (std::ssize(values) != channels) return {};
    biases_.insert(sum.get());
    return values;
  }

  Place average(const ov::op::util::AvgPoolBase& pool, const NodePtr& node) {
    const Shape& in = shape_at(node, 0);
    const Extent2d kernel = extent_of(pool.get_kernel());
    const bool is_padded = extent_of(pool.get_pads_begin()) != Extent2d(0);
    const bool is_one_window = sample_shape(node->output(0)) == Shape{in.at(0), 1, 1};
    if (kernel == Extent2d(in.at(1), in.at(2)) && is_one_window && !is_padded) return add(node, GlobalAveragePool{});
    if (pool.get_pads_begin() != pool.get_pads_end()) fail(node);
    return add(node, AveragePool{.kernel = kernel,
                                 .stride = extent_of(pool.get_strides()),
                                 .padding = extent_of(pool.get_pads_begin()),
                                 .ceil_mode = pool.get_rounding_type() != ov::op::RoundingType::FLOOR,
                                 .count_include_pad = !pool.get_exclude_pad()});
  }

  Place mean(const op::ReduceMean& mean, const NodePtr& node) {
    std::vector<std::int64_t> axes = constants_.integers(node->input_value(1));
    for (std::int64_t& axis : axes) axis += axis < 0 ? 4 : 0;
    if (std::set<std::int64_t>(axes.begin(), axes.end()) != std::set<std::int64_t>{2, 3}) fail(node);
    const Place place = add(node, GlobalAveragePool{});
    return mean.get_keep_dims() ? place : add(unique_name(node), Flatten{}, {place.layer});
  }

  Place pad(const ov::op::util::PadBase& pad, const NodePtr& node) {
    const ov::CoordinateDiff before = pad.get_pads_begin(), after = pad.get_pads_end();
    const bool is_zeros = pad.get_pad_mode() == ov::op::PadMode::CONSTANT &&
                          (node->get_input_size() < 4 || is_one_value(floats(node, 3), 0));
    if (!is_zeros || before.size() != 4 || before[0] + before[1] + after[0] + after[1] != 0) fail(node);
    return add(node, Pad{{before[2], before[3]}, {after[2], after[3]}});
  }

  /// Whether `node` is max(x, 0) or min(x, 6), as `limit` says.
  template <class Limiter>
  bool limits(const NodePtr& node, float limit) const {
    if (!ov::is_type<Limiter>(node)) return false;
    const std::size_t constant = 1 - variable_of(node);
    return is_constant(node, constant) && is_one_value(floats(node, constant), limit);
  }

  /// Whether a max(x, 0) is read by a min(..., 6), so that both are a ReLU6.
  bool is_limited_to_six(const NodePtr& node) const {
    const NodePtr reader = only_reader(node).first;
    return limits<op::Maximum>(node, 0) && reader != nullptr && limits<op::Minimum>(reader, 6);
  }

  std::optional<ActivationKind> activation_kind(const NodePtr& node) const {
    const auto if_fits = [&](bool fits, ActivationKind kind) {
      if (!fits) fail(node);
      return kind;
    };
    if (ov::is_type<op::Relu>(node) || limits<op::Maximum>(node, 0)) return ActivationKind::kRelu;
    if (limits<op::Minimum>(node, 6)) {
      return if_fits(is_limited_to_six(node->get_input_node_shared_ptr(variable_of(node))), ActivationKind::kRelu6);
    }
    if (const auto clamp = ov::as_type_ptr<op::Clamp>(node)) {
      return if_fits(clamp->get_min() == 0 && clamp->get_max() == 6, ActivationKind::kRelu6);
    }
    if (ov::is_type<op::Sigmoid>(node)) return ActivationKind::kSigmoid;
    if (ov::is_type<op::Tanh>(node)) return ActivationKind::kTanh;
    if (ov::is_type<op::HSwish>(node)) return ActivationKind::kHardSwish;
    if (ov::is_type<op::HSigmoid>(node)) return ActivationKind::kHardSigmoid;
    if (ov::is_type<op::HardSigmoid>(node)) {
      return if_fits(is_one_value(floats(node, 1), 1.0F / 6) && is_one_value(floats(node, 2), 0.5F),
                     ActivationKind::kHardSigmoid);
    }
    if (ov::is_type<op::Swish>(node)) {
      return if_fits(node->get_input_size() == 1 || is_one_value(floats(node, 1), 1), ActivationKind::kSilu);
    }
    return {};
  }

  Place product(const NodePtr& node) {
    if (const auto input = scaled_input(node)) return *input;
    for (const std::size_t factor : {0, 1}) {
      if (!is_constant(node, factor)) continue;
      const Floats values = floats(node, factor);
      if (values.size() != 1) fail(node);
      return add(unique_name(node), Scale{values.front()}, {layer_at(node, 1 - factor)});
    }
    std::vector<int> inputs = {layer_at(node, 0), layer_at(node, 1)};
    if (element_count(shape_of(inputs[0])) < element_count(shape_of(inputs[1]))) std::swap(inputs[0], inputs[1]);
    return add(unique_name(node), Multiply{}, inputs);
  }

  const std::string name_;
  const bool is_image_;
  const std::optional<float> black_;  // of an input of bytes
  const Constants constants_;
  DescribedNetwork described_;
  std::map<const ov::Node*, Place> places_;
  std::set<const ov::Node*> biases_;  // sums that are part of the layer before them
  std::set<std::string> names_;
};

}  // namespace

DescribedNetwork describe(const std::shared_ptr<ov::Model>& graph, const std::string& name, const ModelInput& input,
                          const std::vector<std::string>& outputs) {
  return Description(*graph, name, input).of(*graph, outputs);
}

}  // namespace evener::engine::openvino_engine
