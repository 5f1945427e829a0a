#include "engine/openvino/describe.h"

#include <utility>

#include "base/error.h"
#include "engine/openvino/description.h"
#include "engine/openvino/whole_numbers.h"

namespace evener::engine::openvino_engine {

using namespace network;

Shape sample_shape(const ov::Output<ov::Node>& value) {
  const ov::Shape& whole = value.get_shape();
  Shape shape;
  for (std::size_t i = 1; i < whole.size(); ++i) shape.push_back(static_cast<std::int64_t>(whole[i]));
  return shape;
}

std::pair<NodePtr, std::size_t> only_reader(const NodePtr& node) {
  const auto readers = node->output(0).get_target_inputs();
  if (readers.size() != 1) return {};
  return {readers.begin()->get_node()->shared_from_this(), readers.begin()->get_index()};
}

Description::Description(const ov::Model& graph, const std::string& name, const ModelInput& input)
    : name_(name),
      is_image_(input.is_image),
      black_(black_of(graph.input().get_element_type())),
      constants_(graph),
      described_{.network = Network(name, input.shape)} {
  const ov::Output<const ov::Node> given = graph.input();
  const bool is_last = input.is_image && input.channels == ChannelPlace::kLast;
  places_[given.get_node()] = {0, is_last, false};
}

DescribedNetwork Description::of(const ov::Model& graph, const std::vector<std::string>& outputs) {
  for (const NodePtr& node : graph.get_ordered_ops()) {
    const bool is_known = places_.contains(node.get()) || constants_.contains(node->output(0));
    if (!is_known && !ov::is_type<op::Result>(node)) places_[node.get()] = checked(place_of(node), node);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Place place = place_at(graph.get_results().at(i), 0);
    if (place.channels_last) fail(graph.get_results().at(i));
    described_.network.set_output(outputs[i], place.layer);
  }
  if (black_ && !described_.pixels) {
    throw Error(name_ + " takes bytes, and nothing in it tells what they stand for");
  }
  return std::move(described_);
}

void Description::fail(const NodePtr& node) const {
  throw Error(name_ + " has a layer '" + node->get_friendly_name() + "' of the kind " + node->get_type_name() +
              " that our networks don't have in this form: only convolutions, linear layers, batch-norms, pooling, "
              "sums, products, concatenations and the usual activations can be quantised");
}

Place Description::place_at(const NodePtr& node, std::size_t input) const {
  const auto found = places_.find(node->get_input_node_ptr(input));
  if (found == places_.end() || node->get_input_source_output(input).get_index() != 0) fail(node);
  return found->second;
}

int Description::layer_at(const NodePtr& node, std::size_t input) const {
  const Place place = place_at(node, input);
  if (place.channels_last || place.is_probabilities) fail(node);
  return place.layer;
}

std::string Description::unique_name(const NodePtr& node) {
  std::string name = node->get_friendly_name();
  while (!names_.insert(name).second) name += '_';
  return name;
}

Place Description::add(std::string name, Op layer, std::vector<int> inputs) {
  return {described_.network.add(std::move(name), std::move(layer), std::move(inputs))};
}

Place Description::add(const NodePtr& node, Op layer, std::size_t input) {
  return add(unique_name(node), std::move(layer), {layer_at(node, input)});
}

void Description::set(const std::string& name, std::vector<std::int64_t> shape, const Floats& values) {
  if (static_cast<std::size_t>(element_count(shape)) != values.size()) {
    throw Error(name_ + ": '" + name + "' has " + std::to_string(values.size()) + " values and not " +
                shape_text(shape));
  }
  described_.state[name] = HostTensor::of_floats(std::move(shape), values);
}

Place Description::checked(const Place& place, const NodePtr& node) const {
  if (!place.channels_last && shape_of(place.layer) != sample_shape(node->output(0))) fail(node);
  return place;
}

Place Description::place_of(const NodePtr& node) {
  if (const auto found = passed(node)) return *found;
  if (const auto found = with_weights(node)) return *found;
  if (const auto found = window(node)) return *found;
  if (const auto found = activation(node)) return *found;
  if (const auto found = joined(node)) return *found;
  fail(node);
}

DescribedNetwork describe(const std::shared_ptr<ov::Model>& graph, const std::string& name, const ModelInput& input,
                          const std::vector<std::string>& outputs) {
  return Description(*graph, name, input).of(*graph, outputs);
}

}  // namespace evener::engine::openvino_engine
