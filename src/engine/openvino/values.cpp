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

/// The numbers of a constant input, one or one for each channel. Empty: it is none.
std::vector<float> few_numbers(const ov::Node& node, std::size_t input) {
  const ov::Node* origin = node.get_input_node_ptr(input);
  if (ov::is_type<op::Convert>(origin)) origin = origin->get_input_node_ptr(0);
  const auto* const constant = ov::as_type<const ov::op::v0::Constant>(origin);
  constexpr std::size_t kMost = 4;
  if (constant == nullptr || ov::shape_size(constant->get_shape()) > kMost) return {};
  return constant->cast_vector<float>();
}

/// The only node that reads a value, besides those that ask for its shape; null: there are several or none.
const ov::Node* reader_of(const ov::Output<const ov::Node>& value) {
  const ov::Node* reader = nullptr;
  for (const auto& input : value.get_target_inputs()) {
    if (ov::is_type_any_of<op::ShapeOf, ov::op::v0::ShapeOf>(input.get_node())) continue;
    if (reader != nullptr && reader != input.get_node()) return nullptr;
    reader = input.get_node();
  }
  return reader;
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

bool scales_pixels(const ov::Model& graph) {
  constexpr float kLeast = 1.0F / 400, kMost = 1.0F / 40;  // 1/255 by deviations of 0.15 to 1.5
  constexpr float kMean = 16;                              // at least, of pixels from 0 to 255
  float scale = 1;
  for (const ov::Node* node = reader_of(graph.input()); node != nullptr; node = reader_of(node->output(0))) {
    if (node->get_output_size() != 1 || node->get_input_size() == 0) return false;
    if (ov::is_type_any_of<op::Convert, op::Transpose, op::Reshape, op::Squeeze, op::Unsqueeze, op::FakeQuantize,
                           op::ReduceMean, op::Slice, op::StridedSlice, op::Interpolate>(node)) {
      continue;
    }
    const bool divides = ov::is_type<op::Divide>(node), subtracts = ov::is_type<op::Subtract>(node);
    if (!divides && !subtracts && !ov::is_type_any_of<op::Multiply, op::Add>(node)) return false;
    std::vector<float> numbers = few_numbers(*node, 1);
    if (numbers.empty() && !divides && !subtracts) numbers = few_numbers(*node, 0);
    if (numbers.empty()) return false;
    const float least = std::ranges::min(numbers), most = std::ranges::max(numbers);
    if (subtracts || ov::is_type<op::Add>(node)) {
      if (scale == 1 && (subtracts ? least : -most) >= kMean) return true;
      continue;
    }
    scale *= divides ? 1 / most : most;
    if (scale >= kLeast && scale <= kMost) return true;
  }
  return false;
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
