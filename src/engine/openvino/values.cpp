#include <algorithm>
#include <cstring>
#include <openvino/op/constant.hpp>
#include <openvino/opsets/opset14.hpp>

#include "base/error.h"
#include "engine/openvino/graphs.h"

namespace evener::engine::openvino_engine {
namespace {

namespace op = ov::opset14;

/// The nearest node before `node` that does more than move values or convert their type.
const ov::Node* origin_of(const ov::Node* node) {
  do {
    node = node->get_input_node_ptr(0);
  } while (ov::is_type_any_of<op::Convert, op::Transpose, op::Reshape, op::Squeeze, op::Unsqueeze>(node));
  return node;
}

/// The value of an input that is a constant scalar.
std::optional<float> number_at(const ov::Node& node, std::size_t input) {
  const auto constant = ov::as_type_ptr<op::Constant>(node.get_input_node_shared_ptr(input));
  if (constant == nullptr || ov::shape_size(constant->get_shape()) != 1) return std::nullopt;
  return constant->cast_vector<float>().front();
}

ov::Tensor stored(const ov::op::v0::Constant& constant) {
  ov::Tensor tensor(constant.get_element_type(), constant.get_shape());
  std::memcpy(tensor.data(), constant.get_data_ptr(), tensor.get_byte_size());
  return tensor;
}

ov::op::v0::Constant as_constant(const ov::Tensor& tensor) {
  return ov::op::v0::Constant(tensor);
}

}  // namespace

LinearMap map_between(float from_least, float from_most, float to_least, float to_most) {
  const float scale = (to_most - to_least) / (from_most - from_least);
  return {scale, to_least - from_least * scale};
}

std::optional<float> black_of(const ov::element::Type& type) {
  if (type == ov::element::u8) return 0;
  if (type == ov::element::i8) return -128;
  return std::nullopt;
}

LinearMap meaning_of(const ov::Output<const ov::Node>& result) {
  if (!result.get_element_type().is_integral_number()) return {};
  const ov::Node* const rounding = origin_of(result.get_node());
  if (!ov::is_type<op::FakeQuantize>(rounding)) return {};
  const auto least = number_at(*rounding, 1), most = number_at(*rounding, 2), first = number_at(*rounding, 3),
             last = number_at(*rounding, 4);
  if (!least || !most || !first || !last || *first == *last) return {};
  return map_between(*first, *last, *least, *most);
}

Constants::Constants(const ov::Model& graph) {
  for (const auto& node : graph.get_ordered_ops()) {
    if (const auto constant = ov::as_type_ptr<ov::op::v0::Constant>(node)) {
      values_.emplace(node.get(), stored(*constant));
      continue;
    }
    const ov::OutputVector inputs = node->input_values();
    const bool depends = inputs.empty() || node->get_output_size() != 1 ||
                         !std::ranges::all_of(inputs, [&](const auto& input) { return contains(input); });
    if (depends || node->is_dynamic()) continue;
    ov::TensorVector arguments, result{{node->get_output_element_type(0), node->get_output_shape(0)}};
    for (const auto& input : inputs) arguments.push_back(values_.at(input.get_node()));
    const bool all_known = std::ranges::all_of(arguments, [](const ov::Tensor& tensor) { return bool(tensor); });
    values_.emplace(node.get(), all_known && node->evaluate(result, arguments) ? result.front() : ov::Tensor());
  }
}

const ov::Tensor& Constants::tensor(const ov::Output<ov::Node>& value) const {
  const auto found = values_.find(value.get_node());
  if (found == values_.end() || !found->second) {
    throw Error("'" + value.get_node()->get_friendly_name() + "' is computed, where our networks have numbers");
  }
  return found->second;
}

std::vector<float> Constants::floats(const ov::Output<ov::Node>& value) const {
  return as_constant(tensor(value)).cast_vector<float>();
}

std::vector<std::int64_t> Constants::integers(const ov::Output<ov::Node>& value) const {
  return as_constant(tensor(value)).cast_vector<std::int64_t>();
}

}  // namespace evener::engine::openvino_engine
