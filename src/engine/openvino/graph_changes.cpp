#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <openvino/core/graph_util.hpp>
#include <openvino/op/constant.hpp>
#include <openvino/op/interpolate.hpp>
#include <openvino/op/ops.hpp>
#include <openvino/op/parameter.hpp>
#include <openvino/op/reshape.hpp>
#include <openvino/op/result.hpp>
#include <openvino/op/sigmoid.hpp>
#include <openvino/op/transpose.hpp>
#include <openvino/opsets/opset14.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/openvino/graphs.h"

namespace evener::engine::openvino_engine {
namespace {

namespace op = ov::opset14;

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

constexpr std::size_t kValueLevels = 256;

/// A layer that multiplies values with constant weights.
struct WeightedLayer {
  std::shared_ptr<ov::Node> node;
  std::string value;                 // the name of what it reads
  std::vector<std::size_t> outputs;  // axes of its weights that count its outputs
};

/// The name of a value: of whatever computes it.
std::string value_name(const ov::Output<ov::Node>& value) {
  const std::string name = value.get_node()->get_friendly_name();
  return value.get_index() == 0 ? name : name + "." + std::to_string(value.get_index());
}

/// Empty for what is no such layer.
std::vector<std::size_t> output_axes(const ov::Node& node) {
  if (ov::is_type<ov::op::v1::Convolution>(&node)) return {0};
  if (ov::is_type<ov::op::v1::GroupConvolution>(&node)) return {0, 1};
  const auto* const product = ov::as_type<const ov::op::v0::MatMul>(&node);
  if (product == nullptr || node.get_input_shape(1).size() != 2) return {};
  return {product->get_transpose_b() ? 0U : 1U};
}

std::vector<WeightedLayer> weighted_layers(const ov::Model& graph, const Constants& constants) {
  std::vector<WeightedLayer> layers;
  for (const auto& node : graph.get_ordered_ops()) {
    if (node->get_input_size() < 2 || !constants.contains(node->input_value(1))) continue;
    if (constants.contains(node->input_value(0)) || node->get_input_partial_shape(1).is_dynamic()) continue;
    std::vector<std::size_t> axes = output_axes(*node);
    // A value that is rounded already was quantised by others.
    if (axes.empty() || ov::is_type<ov::op::v0::FakeQuantize>(node->input_value(0).get_node())) continue;
    layers.push_back({node, value_name(node->input_value(0)), std::move(axes)});
  }
  return layers;
}

std::shared_ptr<ov::Node> number(float value) {
  return ov::op::v0::Constant::create(ov::element::f32, ov::Shape{}, {value});
}

/// The range of 256 levels of which one is 0.
ValueExtent with_zero(ValueExtent extent) {
  extent.least = std::min(extent.least, 0.0F), extent.most = std::max(extent.most, 0.0F);
  constexpr auto kSteps = static_cast<float>(kValueLevels - 1);
  const float width = extent.most - extent.least;
  if (!(width > 0)) return {0, 1};
  if (extent.least == 0 || extent.most == 0) return extent;
  const float zero = std::clamp(std::round(-extent.least / width * kSteps), 1.0F, kSteps - 1);
  // The longer side keeps its end.
  const float step = std::max(-extent.least / zero, extent.most / (kSteps - zero));
  return {-zero * step, (kSteps - zero) * step};
}

std::shared_ptr<ov::Node> rounded_value(const ov::Output<ov::Node>& value, const ValueExtent& given) {
  const ValueExtent extent = with_zero(given);
  const auto least = number(extent.least), most = number(extent.most);
  return std::make_shared<ov::op::v0::FakeQuantize>(value, least, most, least, most, kValueLevels);
}

/// Whole numbers of so many bits, and what multiplies them: a file keeps a byte for each weight.
std::shared_ptr<ov::Node> rounded_weights(const WeightedLayer& layer, const Constants& constants, int bits) {
  const ov::Output<ov::Node> weights = layer.node->input_value(1);
  const ov::Shape shape = weights.get_shape();
  ov::Shape ends(shape.size(), 1);
  for (const std::size_t axis : layer.outputs) ends[axis] = shape[axis];
  const std::vector<float> values = constants.floats(weights);
  std::vector<std::size_t> places(values.size());  // of the output that each weight belongs to
  std::vector<float> scales(ov::shape_size(ends));
  const auto levels = static_cast<float>((1 << (bits - 1)) - 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::size_t rest = i, step = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      const std::size_t at = rest % shape[axis];
      rest /= shape[axis];
      if (ends[axis] == 1) continue;
      places[i] += at * step;
      step *= ends[axis];
    }
    scales[places[i]] = std::max(scales[places[i]], std::abs(values[i]) / levels);
  }
  for (float& scale : scales) scale = scale > 0 && std::isfinite(scale) ? scale : 1;
  std::vector<std::int8_t> whole(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float level = std::nearbyint(values[i] / scales[places[i]]);
    whole[i] = static_cast<std::int8_t>(std::clamp(level, -levels, levels));
  }
  const auto constant = ov::op::v0::Constant::create(ov::element::i8, shape, whole);
  const auto converted = std::make_shared<ov::op::v0::Convert>(constant, ov::element::f32);
  return std::make_shared<ov::op::v1::Multiply>(converted,
                                                ov::op::v0::Constant::create(ov::element::f32, ends, scales));
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

MadeBy maker_of(const ov::Node* node) {
  const auto passed_over = [&] {
    return ov::is_type_any_of<op::Convert, op::Reshape, op::Squeeze, op::Unsqueeze, op::Transpose, op::FakeQuantize>(
        node);
  };
  while (passed_over()) node = node->get_input_node_ptr(0);
  if (ov::is_type<op::Sigmoid>(node)) return MadeBy::kSigmoid;
  if (ov::is_type_any_of<op::Softmax, ov::op::v1::Softmax>(node)) return MadeBy::kSoftmax;
  if (ov::is_type<op::Add>(node)) {  // a bias
    for (const std::size_t other : {0, 1}) {
      const ov::Node* bias = node->get_input_node_ptr(other);
      while (ov::is_type_any_of<op::Convert, op::Reshape>(bias)) bias = bias->get_input_node_ptr(0);
      if (!ov::is_type<op::Constant>(bias)) continue;
      node = node->get_input_node_ptr(1 - other);
      while (passed_over()) node = node->get_input_node_ptr(0);
      break;
    }
  }
  return ov::is_type_any_of<op::MatMul, op::Convolution>(node) ? MadeBy::kProduct : MadeBy::kOther;
}

void give_two_classes(ov::Model& graph, std::size_t output, LinearMap meaning, bool is_probability) {
  const auto result = graph.get_results().at(output);
  const auto number = [](float value) { return op::Constant::create(ov::element::f32, {1, 1}, {value}); };
  const auto rows = op::Constant::create(ov::element::i64, {2}, std::vector<std::int64_t>{-1, 1});
  const auto column = std::make_shared<op::Reshape>(result->input_value(0), rows, false);
  const auto values = std::make_shared<op::Convert>(column, ov::element::f32);
  const auto scaled = std::make_shared<op::Multiply>(values, number(meaning.scale));
  const auto second = std::make_shared<op::Add>(scaled, number(meaning.shift));
  const bool is_one = is_probability || maker_of(result->get_input_node_ptr(0)) == MadeBy::kSigmoid;
  const std::shared_ptr<ov::Node> first =
      is_one ? std::shared_ptr<ov::Node>(std::make_shared<op::Subtract>(number(1), second))
             : std::make_shared<op::Multiply>(second, number(0));
  const auto both = std::make_shared<op::Concat>(ov::OutputVector{first, second}, 1);
  result->input(0).replace_source_output(both->output(0));
  graph.validate_nodes_and_infer_types();
}

std::vector<std::string> quantizable_layers(const ov::Model& graph) {
  const Constants constants(graph);
  std::vector<std::string> names;
  for (const WeightedLayer& layer : weighted_layers(graph, constants)) {
    names.push_back(layer.node->get_friendly_name());
  }
  return names;
}

std::vector<std::string> give_extents(ov::Model& graph) {
  const Constants constants(graph);
  std::vector<std::string> names;
  const ov::ResultVector before = graph.get_results();
  for (const WeightedLayer& layer : weighted_layers(graph, constants)) {
    if (std::ranges::find(names, layer.value) != names.end()) continue;
    const ov::Output<ov::Node> value = layer.node->input_value(0);
    const auto flat = std::make_shared<ov::op::v1::Reshape>(
        value, ov::op::v0::Constant::create(ov::element::i64, {2}, {1, -1}), false);
    const auto along = ov::op::v0::Constant::create(ov::element::i64, {1}, {1});
    const auto both = std::make_shared<ov::op::v0::Concat>(
        ov::OutputVector{std::make_shared<ov::op::v1::ReduceMin>(flat, along, true),
                         std::make_shared<ov::op::v1::ReduceMax>(flat, along, true)},
        1);
    graph.add_results({std::make_shared<ov::op::v0::Result>(both)});
    names.push_back(layer.value);
  }
  for (const auto& result : before) graph.remove_result(result);
  graph.validate_nodes_and_infer_types();
  return names;
}

void quantize(ov::Model& graph, const FileQuantization& how) {
  const Constants constants(graph);
  std::map<std::string, std::shared_ptr<ov::Node>> rounded;  // by the value's name
  for (const WeightedLayer& layer : weighted_layers(graph, constants)) {
    if (std::ranges::find(how.kept, layer.node->get_friendly_name()) != how.kept.end()) continue;
    std::shared_ptr<ov::Node>& value = rounded[layer.value];
    if (value == nullptr) {
      const auto extent = how.extents.find(layer.value);
      if (extent == how.extents.end()) throw Error("the range of '" + layer.value + "' is not known");
      value = rounded_value(layer.node->input_value(0), extent->second);
    }
    const auto weights = rounded_weights(layer, constants, how.weight_bits);
    layer.node->input(0).replace_source_output(value);
    layer.node->input(1).replace_source_output(weights);
  }
  graph.validate_nodes_and_infer_types();
}

}  // namespace evener::engine::openvino_engine
