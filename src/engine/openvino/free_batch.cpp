#include "engine/openvino/free_batch.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <openvino/op/constant.hpp>
#include <openvino/op/parameter.hpp>
#include <openvino/op/reshape.hpp>
#include <set>
#include <string>
#include <vector>

#include "engine/openvino/constants.h"

namespace evener::engine::openvino_engine {
namespace {

/// Has reshapes from (1, ...) to a constant (1, ...) copy the first extent, which is the same for one image.
void free_reshapes(ov::Model& graph) {
  const Constants constants(graph);
  for (const auto& node : graph.get_ordered_ops()) {
    const auto reshape = ov::as_type_ptr<ov::op::v1::Reshape>(node);
    if (reshape == nullptr) continue;
    const ov::Output<ov::Node> shape = reshape->input_value(1);
    const ov::PartialShape& from = reshape->get_input_partial_shape(0);
    if (!constants.contains(shape) || from.rank().is_dynamic() || from.size() == 0 || from[0] != 1) continue;
    std::vector<std::int64_t> extents = constants.integers(shape);
    const bool has_zero = std::ranges::find(extents, 0) != extents.end();
    if (extents.empty() || extents.front() != 1 || (has_zero && !reshape->get_special_zero())) continue;
    extents.front() = 0;  // as it comes
    const auto freed = ov::op::v0::Constant::create(ov::element::i64, ov::Shape{extents.size()}, extents);
    reshape->input(1).replace_source_output(freed->output(0));
    reshape->set_special_zero(true);
  }
}

/// Whether one extent grew from 1 to 2, and the others stayed.
bool grew_by_batch(const ov::PartialShape& before, const ov::PartialShape& after) {
  if (before.is_dynamic() || after.is_dynamic() || before.size() != after.size()) return false;
  int grown = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] == after[i]) continue;
    if (before[i] != 1 || after[i] != 2) return false;
    ++grown;
  }
  return grown == 1;
}

/// Whether with two images every value that depends on them has one extent that was 1 and is 2: a graph that mixes
/// images shows in another extent, and one that sees only one of them in none. `graph`: for one.
bool keeps_images_apart(const ov::Model& graph) {
  const auto one = graph.clone(), two = graph.clone();
  ov::PartialShape doubled = graph.input().get_partial_shape();
  doubled[0] = 2;
  try {
    two->reshape(doubled);
  } catch (const std::exception&) {  // a shape that is fixed inside
    return false;
  }
  std::map<std::string, std::shared_ptr<ov::Node>> of_two;  // by name
  for (const auto& node : two->get_ordered_ops()) of_two[node->get_friendly_name()] = node;
  std::set<const ov::Node*> dependent;
  for (const auto& op : one->get_ordered_ops()) {
    const ov::Node& node = *op;
    const bool reads_images = std::ranges::any_of(
        node.input_values(), [&](const ov::Output<ov::Node>& value) { return dependent.contains(value.get_node()); });
    const bool is_input = ov::is_type<ov::op::v0::Parameter>(&node);
    // A shape depends on how many images there are, not on them.
    if (!(reads_images || is_input) || node.get_type_name() == std::string("ShapeOf")) continue;
    dependent.insert(&node);
    const auto same = of_two.find(node.get_friendly_name());
    if (same == of_two.end()) continue;  // reshaping put something else in its place
    for (std::size_t k = 0; k < std::min(node.get_output_size(), same->second->get_output_size()); ++k) {
      if (!grew_by_batch(node.get_output_partial_shape(k), same->second->get_output_partial_shape(k))) return false;
    }
  }
  return std::ranges::all_of(two->outputs(), [](const ov::Output<ov::Node>& output) {
    const ov::PartialShape& shape = output.get_partial_shape();
    return shape.rank().is_static() && shape.size() > 0 && shape[0] == 2;
  });
}

}  // namespace

std::shared_ptr<ov::Model> with_free_batch(const std::shared_ptr<const ov::Model>& graph) {
  if (graph->inputs().size() != 1) return nullptr;
  const ov::PartialShape given = graph->input().get_partial_shape();
  if (given.is_dynamic() || given.size() < 2 || given[0] != 1) return nullptr;
  auto freed = graph->clone();
  try {
    free_reshapes(*freed);
    freed->validate_nodes_and_infer_types();
  } catch (const std::exception&) {  // a reshape that isn't what it seemed
    return nullptr;
  }
  return keeps_images_apart(*freed) ? freed : nullptr;
}

}  // namespace evener::engine::openvino_engine
