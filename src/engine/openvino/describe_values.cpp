// Activations, and operations on several values (sums, products, concatenation).
#include <utility>

#include "engine/openvino/description.h"

namespace evener::engine::openvino_engine {

using namespace network;

template <class Limiter>
bool Description::limits(const NodePtr& node, float limit) const {
  if (!ov::is_type<Limiter>(node)) return false;
  const std::size_t constant = 1 - variable_of(node);
  return is_constant(node, constant) && is_one_value(floats(node, constant), limit);
}

bool Description::is_limited_to_six(const NodePtr& node) const {
  const NodePtr reader = only_reader(node).first;
  return limits<op::Maximum>(node, 0) && reader != nullptr && limits<op::Minimum>(reader, 6);
}

std::optional<ActivationKind> Description::activation_kind(const NodePtr& node) const {
  if (ov::is_type<op::Relu>(node) || limits<op::Maximum>(node, 0)) return ActivationKind::kRelu;
  if (limits<op::Minimum>(node, 6)) {
    const NodePtr limited = node->get_input_node_shared_ptr(variable_of(node));
    if (is_limited_to_six(limited)) return ActivationKind::kRelu6;
    fail(node);
  }
  if (const auto clamp = ov::as_type_ptr<op::Clamp>(node)) {
    if (clamp->get_min() == 0 && clamp->get_max() == 6) return ActivationKind::kRelu6;
    fail(node);
  }
  if (ov::is_type<op::Sigmoid>(node)) return ActivationKind::kSigmoid;
  if (ov::is_type<op::Tanh>(node)) return ActivationKind::kTanh;
  if (ov::is_type<op::HSwish>(node)) return ActivationKind::kHardSwish;
  if (ov::is_type<op::HSigmoid>(node)) return ActivationKind::kHardSigmoid;
  if (ov::is_type<op::HardSigmoid>(node)) {
    if (is_one_value(floats(node, 1), 1.0F / 6) && is_one_value(floats(node, 2), 0.5F)) {
      return ActivationKind::kHardSigmoid;
    }
    fail(node);
  }
  if (ov::is_type<op::Swish>(node)) {
    if (node->get_input_size() == 1 || is_one_value(floats(node, 1), 1)) return ActivationKind::kSilu;
    fail(node);
  }
  return {};
}

std::optional<Place> Description::activation(const NodePtr& node) {
  const auto kind = activation_kind(node);
  if (!kind) return {};
  return add(node, Activation{*kind}, variable_of(node));
}

Place Description::product(const NodePtr& node) {
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

std::optional<Place> Description::joined(const NodePtr& node) {
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

}  // namespace evener::engine::openvino_engine
