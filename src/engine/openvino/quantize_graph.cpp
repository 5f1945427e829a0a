#include "engine/openvino/quantize_graph.h"

#include <algorithm>
#include <cmath>
#include <openvino/op/ops.hpp>

#include "base/error.h"
#include "engine/openvino/constants.h"

namespace evener::engine::openvino_engine {
namespace {

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
