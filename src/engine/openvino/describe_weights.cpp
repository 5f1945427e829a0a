// Layers with weights.
#include <tuple>

#include "engine/openvino/description.h"

namespace evener::engine::openvino_engine {

using namespace network;

template <class Node>
Place Description::convolution(const Node& conv, const NodePtr& node, std::int64_t groups) {
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

Place Description::linear(const op::MatMul& product, const NodePtr& node) {
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

Place Description::batch_norm(const op::BatchNormInference& norm, const NodePtr& node) {
  const std::string name = unique_name(node);
  const std::int64_t channels = shape_at(node, 0).front();
  const char* names[] = {".weight", ".bias", ".running_mean", ".running_var"};
  for (std::size_t i = 0; i < 4; ++i) set(name + names[i], {channels}, floats(node, i + 1));
  described_.state[name + ".num_batches_tracked"] = HostTensor::scalar_i64(0);
  return add(name, BatchNorm{.epsilon = norm.get_eps_value()}, {layer_at(node)});
}

std::optional<Floats> Description::bias_after(const NodePtr& node, std::int64_t channels) {
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

std::optional<Place> Description::with_weights(const NodePtr& node) {
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

}  // namespace evener::engine::openvino_engine
