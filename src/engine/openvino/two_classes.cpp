#include "engine/openvino/two_classes.h"

#include <cstdint>
#include <memory>
#include <openvino/opsets/opset14.hpp>
#include <vector>

namespace evener::engine::openvino_engine {
namespace {

namespace op = ov::opset14;

/// Whether a sigmoid computes the value, passing over nodes that move, round or convert it.
bool is_of_sigmoid(const ov::Node* node) {
  while (
      ov::is_type_any_of<op::Convert, op::Reshape, op::Squeeze, op::Unsqueeze, op::Transpose, op::FakeQuantize>(node)) {
    node = node->get_input_node_ptr(0);
  }
  return ov::is_type<op::Sigmoid>(node);
}

}  // namespace

void give_two_classes(ov::Model& graph, std::size_t output, LinearMap meaning, bool is_probability) {
  const auto result = graph.get_results().at(output);
  const auto number = [](float value) { return op::Constant::create(ov::element::f32, {1, 1}, {value}); };
  const auto rows = op::Constant::create(ov::element::i64, {2}, std::vector<std::int64_t>{-1, 1});
  const auto column = std::make_shared<op::Reshape>(result->input_value(0), rows, false);
  const auto values = std::make_shared<op::Convert>(column, ov::element::f32);
  const auto scaled = std::make_shared<op::Multiply>(values, number(meaning.scale));
  const auto second = std::make_shared<op::Add>(scaled, number(meaning.shift));
  const bool is_one = is_probability || is_of_sigmoid(result->get_input_node_ptr(0));
  const std::shared_ptr<ov::Node> first =
      is_one ? std::shared_ptr<ov::Node>(std::make_shared<op::Subtract>(number(1), second))
             : std::make_shared<op::Multiply>(second, number(0));
  const auto both = std::make_shared<op::Concat>(ov::OutputVector{first, second}, 1);
  result->input(0).replace_source_output(both->output(0));
  graph.validate_nodes_and_infer_types();
}

}  // namespace evener::engine::openvino_engine
