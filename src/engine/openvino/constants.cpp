#include "engine/openvino/constants.h"

#include <algorithm>
#include <cstring>
#include <openvino/op/constant.hpp>

#include "base/error.h"

namespace evener::engine::openvino_engine {
namespace {

ov::Tensor stored(const ov::op::v0::Constant& constant) {
  ov::Tensor tensor(constant.get_element_type(), constant.get_shape());
  std::memcpy(tensor.data(), constant.get_data_ptr(), tensor.get_byte_size());
  return tensor;
}

ov::op::v0::Constant as_constant(const ov::Tensor& tensor) {
  return ov::op::v0::Constant(tensor);
}

}  // namespace

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
