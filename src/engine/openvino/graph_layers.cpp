#include "engine/openvino/graph_layers.h"

#include <cstdint>
#include <openvino/opsets/opset14.hpp>
#include <utility>

namespace evener::engine::openvino_engine {
namespace {

namespace op = ov::opset14;

/// The number of values in a constant input, maybe after a conversion of its type; 0 for other inputs, and for integers
/// such as shapes and axes.
std::int64_t constant_values(const ov::Node* node) {
  while (ov::is_type<op::Convert>(node)) node = node->get_input_node_ptr(0);
  const auto* const constant = ov::as_type<const op::Constant>(node);
  if (constant == nullptr) return 0;
  const ov::element::Type& type = constant->get_element_type();
  const bool is_index = type == ov::element::i64 || type == ov::element::i32;
  return is_index ? 0 : static_cast<std::int64_t>(ov::shape_size(constant->get_shape()));
}

bool is_constant(const ov::Node* node) {
  while (ov::is_type<op::Convert>(node)) node = node->get_input_node_ptr(0);
  return ov::is_type<op::Constant>(node);
}

}  // namespace

std::vector<std::int64_t> extents_of(const ov::PartialShape& shape) {
  std::vector<std::int64_t> extents;
  if (shape.rank().is_dynamic()) return extents;
  for (const ov::Dimension& extent : shape) extents.push_back(extent.is_static() ? extent.get_length() : -1);
  return extents;
}

std::vector<ModelLayer> layers_of(const ov::Model& graph) {
  std::vector<ModelLayer> layers;
  for (const auto& node : graph.get_ordered_ops()) {
    if (is_constant(node.get()) || ov::is_type_any_of<op::Parameter, op::Result>(node)) continue;
    ModelLayer layer{.name = node->get_friendly_name(), .kind = node->get_type_name(), .shape = {}};
    if (node->get_output_size() > 0) layer.shape = extents_of(node->get_output_partial_shape(0));
    for (std::size_t i = 0; i < node->get_input_size(); ++i)
      layer.parameters += constant_values(node->get_input_node_ptr(i));
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace evener::engine::openvino_engine
