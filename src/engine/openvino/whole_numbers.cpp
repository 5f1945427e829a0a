#include "engine/openvino/whole_numbers.h"

#include <openvino/opsets/opset14.hpp>

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

}  // namespace evener::engine::openvino_engine
