#include "engine/openvino/free_batch.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <openvino/core/graph_util.hpp>
#include <openvino/op/constant.hpp>
#include <openvino/op/interpolate.hpp>
#include <openvino/op/parameter.hpp>
#include <openvino/op/reshape.hpp>
#include <openvino/op/result.hpp>
#include <openvino/op/sigmoid.hpp>
#include <openvino/op/transpose.hpp>
#include <set>
#include <string>
#include <vector>

#include "engine/openvino/constants.h"

namespace evener::engine::openvino_engine {
namespace {

/// Has transposes that put the batch, which is 1, somewhere inside leave it in front, where all that reads them are
/// reshapes: one image's values come in the same order. SCRFD's files have (1, C, H, W) as (H, W, 1, C) to make a list
/// of places of it.
void lead_with_batch(ov::Model& graph) {
  const Constants constants(graph);
  for (const auto& node : graph.get_ordered_ops()) {
    const auto transpose = ov::as_type_ptr<ov::op::v1::Transpose>(node);
    if (transpose == nullptr || !constants.contains(transpose->input_value(1))) continue;
    const ov::PartialShape& from = transpose->get_input_partial_shape(0);
    const std::set<ov::Input<ov::Node>> readers = transpose->output(0).get_target_inputs();
    const bool is_reshaped = std::ranges::all_of(
        readers, [](const ov::Input<ov::Node>& reader) { return ov::is_type<ov::op::v1::Reshape>(reader.get_node()); });
    if (!is_reshaped || from.rank().is_dynamic() || from.size() == 0 || from[0] != 1) continue;
    std::vector<std::int64_t> order = constants.integers(transpose->input_value(1));
    if (std::erase(order, 0) != 1) continue;
    order.insert(order.begin(), 0);
    const auto leading = ov::op::v0::Constant::create(ov::element::i64, ov::Shape{order.size()}, order);
    transpose->input(1).replace_source_output(leading->output(0));
  }
}

/// Whether a value is given as it is, or through a sigmoid, and nothing else reads it.
bool is_given(const ov::Output<ov::Node>& value) {
  return std::ranges::all_of(value.get_target_inputs(), [](const ov::Input<ov::Node>& reader) {
    ov::Node* const node = reader.get_node();
    return ov::is_type<ov::op::v0::Result>(node) ||
           (ov::is_type<ov::op::v0::Sigmoid>(node) && is_given(node->output(0)));
  });
}

/// The shape for a reshape from (1, ...) which is the same for one image and copies the first extent as it comes;
/// empty where there is none. Lists that are given, of any length, get an extent for images.
std::vector<std::int64_t> freed_extents(ov::op::v1::Reshape& reshape, std::vector<std::int64_t> extents) {
  const bool has_zero = std::ranges::find(extents, 0) != extents.end();
  if (extents.empty() || (has_zero && !reshape.get_special_zero())) return {};
  if (extents.front() == 1) {
    extents.front() = 0;
    return extents;
  }
  if (extents.front() != -1 || extents.size() < 2 || has_zero || !is_given(reshape.output(0))) return {};
  extents.insert(extents.begin(), 0);
  return extents;
}

void free_reshapes(ov::Model& graph) {
  const Constants constants(graph);
  for (const auto& node : graph.get_ordered_ops()) {
    const auto reshape = ov::as_type_ptr<ov::op::v1::Reshape>(node);
    if (reshape == nullptr) continue;
    const ov::Output<ov::Node> shape = reshape->input_value(1);
    const ov::PartialShape& from = reshape->get_input_partial_shape(0);
    if (!constants.contains(shape) || from.rank().is_dynamic() || from.size() == 0 || from[0] != 1) continue;
    const std::vector<std::int64_t> extents = freed_extents(*reshape, constants.integers(shape));
    if (extents.empty()) continue;
    const auto freed = ov::op::v0::Constant::create(ov::element::i64, ov::Shape{extents.size()}, extents);
    reshape->input(1).replace_source_output(freed->output(0));
    reshape->set_special_zero(true);
  }
}

/// Has images inside the graph resized along the axes alone that change, where their whole new shape is a constant:
/// the batch isn't fixed by it.
void free_resizes(ov::Model& graph) {
  using ov::op::v11::Interpolate;
  const Constants constants(graph);
  for (const auto& node : graph.get_ordered_ops()) {
    const auto resize = ov::as_type_ptr<Interpolate>(node);
    if (resize == nullptr || resize->get_input_size() != 2) continue;
    const ov::PartialShape& from = resize->get_input_partial_shape(0);
    if (resize->get_attrs().shape_calculation_mode != Interpolate::ShapeCalcMode::SIZES || from.is_dynamic()) continue;
    if (!constants.contains(resize->input_value(1))) continue;
    const std::vector<std::int64_t> extents = constants.integers(resize->input_value(1));
    if (extents.size() != from.size()) continue;
    std::vector<std::int64_t> axes, changed;
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      if (from[axis] == extents[axis]) continue;
      axes.push_back(static_cast<std::int64_t>(axis));
      changed.push_back(extents[axis]);
    }
    if (axes.empty()) continue;
    const auto of = [](const std::vector<std::int64_t>& values) {
      return ov::op::v0::Constant::create(ov::element::i64, ov::Shape{values.size()}, values);
    };
    const auto freed =
        std::make_shared<Interpolate>(resize->input_value(0), of(changed), of(axes), resize->get_attrs());
    freed->set_friendly_name(resize->get_friendly_name());
    ov::replace_node(resize, freed);
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
    lead_with_batch(*freed);
    freed->validate_nodes_and_infer_types();
    free_reshapes(*freed);
    free_resizes(*freed);
    freed->validate_nodes_and_infer_types();
  } catch (const std::exception&) {  // a reshape that isn't what it seemed
    return nullptr;
  }
  return keeps_images_apart(*freed) ? freed : nullptr;
}

}  // namespace evener::engine::openvino_engine
