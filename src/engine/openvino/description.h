// Inside engine/openvino: converts a graph to a Network, node by node. The kinds of nodes are divided among files:
// describe_input.cpp (nodes that change no value, and preprocessing of the input), describe_weights.cpp,
// describe_windows.cpp and describe_values.cpp. To support a further operation, add a case to one of them.
#pragma once

#include <cmath>
#include <map>
#include <openvino/core/model.hpp>
#include <openvino/opsets/opset14.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/model_file.h"
#include "engine/openvino/constants.h"

namespace evener::engine::openvino_engine {

namespace op = ov::opset14;
using NodePtr = std::shared_ptr<ov::Node>;
using Floats = std::vector<float>;

template <class Sizes>
network::Extent2d extent_of(const Sizes& sizes) {
  return {static_cast<std::int64_t>(sizes.at(0)), static_cast<std::int64_t>(sizes.at(1))};
}

inline bool is_one_value(const Floats& values, float wanted) {
  constexpr float kClose = 1e-4F;
  return values.size() == 1 && std::abs(values.front() - wanted) < kClose;
}

/// The shape of a value without the batch.
network::Shape sample_shape(const ov::Output<ov::Node>& value);

/// Whether a window is dilated. `Windows`: a kind of node that may be.
template <class Windows>
bool has_gaps(const NodePtr& node) {
  const auto windows = ov::as_type_ptr<Windows>(node);
  if (windows == nullptr) return false;
  for (const auto step : windows->get_dilations()) {
    if (step != 1) return true;
  }
  return false;
}

/// The only node that reads `node`, and the index of its input that does; null where there are several readers.
std::pair<NodePtr, std::size_t> only_reader(const NodePtr& node);

/// The network's layer that has a node's result.
struct Place {
  int layer = 0;
  bool channels_last = false;     // the graph has the value as (N, H, W, C), the network always as (N, C, H, W)
  bool is_probabilities = false;  // a softmax was left out, which the network leaves to its caller
};

/// Converts one node after the other. Throws Error for a node that has no counterpart in our networks.
class Description {
 public:
  Description(const ov::Model& graph, const std::string& name, const ModelInput& input);

  DescribedNetwork of(const ov::Model& graph, const std::vector<std::string>& outputs);

 private:
  [[noreturn]] void fail(const NodePtr& node) const;

  Place place_at(const NodePtr& node, std::size_t input) const;
  const network::Shape& shape_at(const NodePtr& node, std::size_t input) const {
    return shape_of(place_at(node, input).layer);
  }
  const network::Shape& shape_of(int layer) const {
    return described_.network.layers()[static_cast<std::size_t>(layer)].shape;
  }
  bool is_constant(const NodePtr& node, std::size_t input) const {
    return constants_.contains(node->input_value(input));
  }
  Floats floats(const NodePtr& node, std::size_t input) const { return constants_.floats(node->input_value(input)); }
  /// The index of the input that isn't constant, for a node with two inputs.
  std::size_t variable_of(const NodePtr& node) const { return is_constant(node, 0) ? 1 : 0; }
  /// The layer that computes an input of `node`.
  int layer_at(const NodePtr& node, std::size_t input = 0) const;

  std::string unique_name(const NodePtr& node);
  Place add(std::string name, network::Op layer, std::vector<int> inputs);
  Place add(const NodePtr& node, network::Op layer, std::size_t input = 0);
  void set(const std::string& name, std::vector<std::int64_t> shape, const Floats& values);
  /// Throws Error unless the graph and the network give a layer the same shape: they would differ in how they compute
  /// it.
  Place checked(const Place& place, const NodePtr& node) const;

  Place place_of(const NodePtr& node);
  // Each of these converts some kinds of nodes, and returns nothing for others.
  /// Nodes that change no value: conversions of types, layouts and shapes, the fake quantisation of quantised files;
  /// and the softmax.
  std::optional<Place> passed(const NodePtr& node);
  std::optional<Place> with_weights(const NodePtr& node);
  std::optional<Place> window(const NodePtr& node);
  std::optional<Place> activation(const NodePtr& node);
  std::optional<Place> joined(const NodePtr& node);

  // describe_input.cpp
  Place without_rounding(const NodePtr& node);
  /// Notes a scaling of each channel's pixels, after those noted before.
  void scale_pixels(const Floats& scale, const Floats& shift);
  /// A factor or a summand for each channel of the network's input: it becomes part of the normalisation, not of the
  /// network.
  std::optional<Place> scaled_input(const NodePtr& node);
  Place transposed(const NodePtr& node) const;
  Place reshaped(const NodePtr& node);
  /// Whether the node multiplies by 1, as the factor alpha of ONNX's Gemm mostly does.
  bool is_times_one(const NodePtr& node) const;

  // describe_weights.cpp
  template <class Node>
  Place convolution(const Node& conv, const NodePtr& node, std::int64_t groups);
  Place linear(const op::MatMul& product, const NodePtr& node);
  Place batch_norm(const op::BatchNormInference& norm, const NodePtr& node);
  /// The bias: what the only reader of `node` adds to each channel. That sum is then this layer's result.
  std::optional<Floats> bias_after(const NodePtr& node, std::int64_t channels);

  // describe_windows.cpp
  Place average(const ov::op::util::AvgPoolBase& pool, const NodePtr& node);
  Place mean(const op::ReduceMean& mean, const NodePtr& node);
  Place pad(const ov::op::util::PadBase& pad, const NodePtr& node);

  // describe_values.cpp
  /// Whether `node` is max(x, 0) or min(x, 6), as `limit` says.
  template <class Limiter>
  bool limits(const NodePtr& node, float limit) const;
  /// Whether a max(x, 0) is read by a min(..., 6), so that both are a ReLU6.
  bool is_limited_to_six(const NodePtr& node) const;
  std::optional<network::ActivationKind> activation_kind(const NodePtr& node) const;
  Place product(const NodePtr& node);

  const std::string name_;
  const bool is_image_;
  const std::optional<float> black_;  // of an input of bytes
  const Constants constants_;
  DescribedNetwork described_;
  std::map<const ov::Node*, Place> places_;
  std::set<const ov::Node*> biases_;  // sums that are part of the layer before them
  std::set<std::string> names_;
};

}  // namespace evener::engine::openvino_engine
