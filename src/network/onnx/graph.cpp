// Operators are those of version 14 (https://github.com/onnx/onnx/blob/main/docs/Changelog.md). Rounding up in pooling
// is written as padding: readers differ in what ceil_mode means for AveragePool, and versions of ONNX do.
#include "network/onnx/graph.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/utf8.h"
#include "network/onnx/attributes.h"
#include "network/quantization.h"

namespace evener::network::onnx_module {
namespace {

using Integers = std::vector<std::int64_t>;
using Values = std::vector<std::string>;

/// Lets std::visit take one lambda per operation.
template <class... Lambdas>
struct Overloaded : Lambdas... {
  using Lambdas::operator()...;
};
template <class... Lambdas>
Overloaded(Lambdas...) -> Overloaded<Lambdas...>;

/// Names of which each is given once.
class Names {
 public:
  std::string unique(const std::string& wanted) {
    std::string name = to_utf8_text(wanted);
    while (!taken_.insert(name).second) name += '_';
    return name;
  }

 private:
  std::set<std::string> taken_;
};

/// Images or vectors of a batch of any size.
void set_type(onnx::ValueInfoProto& value, const std::string& name, const Shape& shape) {
  value.set_name(name);
  onnx::TypeProto::Tensor& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  type.mutable_shape()->add_dim()->set_dim_param("N");
  for (const std::int64_t extent : shape) type.mutable_shape()->add_dim()->set_dim_value(extent);
}

/// How far the windows of a pooling reach: `end` rows and columns of padding take in the last of them, of which
/// `beyond` lie after the padding that the layer has.
struct Reach {
  Extent2d end = 0, beyond = 0;
};

template <class Pool>
Reach reach_of(const Pool& op, const Shape& image, const Shape& places) {
  const auto along = [](std::int64_t size, std::int64_t count, std::int64_t kernel, std::int64_t stride,
                        std::int64_t padding) {
    return std::max(padding, (count - 1) * stride + kernel - size - padding);
  };
  const Extent2d end{along(image[1], places[1], op.kernel.height, op.stride.height, op.padding.height),
                     along(image[2], places[2], op.kernel.width, op.stride.width, op.padding.width)};
  return {end, {end.height - op.padding.height, end.width - op.padding.width}};
}

class GraphWriter {
 public:
  GraphWriter(const Network& network, const TensorMap& state, const OnnxOptions& options, onnx::GraphProto& graph)
      : network_(network), state_(state), options_(options), graph_(graph), values_(network.layers().size()) {}

  void write() {
    graph_.set_name(to_utf8_text(network_.model()));
    name_outputs();
    add_input();
    for (const Parameter& parameter : network_.parameters()) add_parameter(parameter);
    for (std::size_t i = 1; i < network_.layers().size(); ++i) add_layer(static_cast<int>(i));
    for (const Output& output : network_.outputs()) add_output(output);
  }

 private:
  const Layer& layer(int index) const { return network_.layers()[static_cast<std::size_t>(index)]; }
  std::string& value_of(int index) { return values_[static_cast<std::size_t>(index)]; }

  /// The layer that computes what `index` gives out: what only drops in training isn't in the graph.
  int source_of(int index) const {
    while (std::holds_alternative<Dropout>(layer(index).op) || std::holds_alternative<StochasticDepth>(layer(index).op))
      index = layer(index).inputs.front();
    return index;
  }

  /// Outputs have the first choice of names, and give them to the layers that compute them.
  void name_outputs() {
    for (const Output& output : network_.outputs()) {
      const std::string name = names_.unique(output.name);
      output_names_[output.name] = name;
      const int source = source_of(output.layer);
      if (source != 0) result_names_.emplace(source, name);
    }
  }

  void add_input() {
    const Shape& shape = network_.input_shape();
    std::string value = names_.unique(layer(0).name);
    set_type(*graph_.add_input(), value, shape);
    if (!options_.pixel_scale.empty()) {
      Integers extents(shape.size(), 1);
      extents.front() = shape.front();
      const std::string scale = add_floats("normalization.scale", extents, options_.pixel_scale);
      const std::string shift = add_floats("normalization.shift", extents, options_.pixel_shift);
      for (const auto& [kind, by] : {std::pair{"Mul", scale}, std::pair{"Add", shift}}) {
        const std::string result = names_.unique("normalization");
        add_node(kind, {value, by}, result);
        set_type(*graph_.add_value_info(), result, shape);
        value = result;
      }
    }
    value_of(0) = value;
  }

  void add_parameter(const Parameter& parameter) {
    const HostTensor& tensor = state_.at(parameter.name);
    if (tensor.dtype != DType::kF32) return;  // num_batches_tracked counts training steps
    if (const int bits = weight_bits(layer(parameter.layer).op); bits > 0) {
      if (parameter.name.ends_with(".weight")) return add_quantized_weight(parameter, bits);
      if (parameter.name.ends_with(".weight_scale")) return;
    }
    Integers shape = parameter.shape;
    const Layer& owner = layer(parameter.layer);
    // ONNX lines up the slope's last extent with the input's last, not with the channels.
    if (std::holds_alternative<PRelu>(owner.op)) shape.resize(owner.shape.size(), 1);
    if (std::holds_alternative<FakeQuantize>(owner.op)) {
      // A scale of a whole tensor has no extents in ONNX.
      of_layer_[parameter.layer].push_back(add_floats(parameter.name, {}, steps_of(tensor)));
      return;
    }
    const std::string name = names_.unique(parameter.name);
    add_tensor(name, shape, onnx::TensorProto::FLOAT, tensor.bytes.data(), tensor.bytes.size());
    of_layer_[parameter.layer].push_back(name);
  }

  /// Scales as they are computed with: one that was learnt may lie below.
  static std::vector<float> steps_of(const HostTensor& scales) {
    std::vector<float> steps(scales.floats(), scales.floats() + element_count(scales.shape));
    for (float& step : steps) step = std::max(step, kLeastScale);
    return steps;
  }

  static int weight_bits(const Op& op) {
    if (const auto* conv = std::get_if<Conv2d>(&op)) return conv->weight_bits;
    const auto* linear = std::get_if<Linear>(&op);
    return linear == nullptr ? 0 : linear->weight_bits;
  }

  /// Whole numbers, from which a node makes the layer's weights.
  void add_quantized_weight(const Parameter& parameter, int bits) {
    const HostTensor &weight = state_.at(parameter.name), &scale = state_.at(parameter.name + "_scale");
    const std::string levels = names_.unique(parameter.name + ".levels");
    const HostTensor whole = quantized_weights(weight, scale, bits);
    add_tensor(levels, parameter.shape, onnx::TensorProto::INT8, whole.bytes.data(), whole.bytes.size());
    const std::string scales = add_floats(parameter.name + "_scale", scale.shape, steps_of(scale));
    const std::string zeros = names_.unique(parameter.name + ".zeros");
    const std::vector<std::int8_t> zero(static_cast<std::size_t>(scale.shape.front()), 0);
    add_tensor(zeros, scale.shape, onnx::TensorProto::INT8, zero.data(), zero.size());
    const std::string name = names_.unique(parameter.name);
    add_attribute(add_node("DequantizeLinear", {levels, scales, zeros}, name), "axis", std::int64_t{0});
    of_layer_[parameter.layer].push_back(name);
  }

  void add_output(const Output& output) {
    const std::string& name = output_names_.at(output.name);
    if (value_of(output.layer) != name) add_node("Identity", {value_of(output.layer)}, name);
    set_type(*graph_.add_output(), name, network_.output_shape(output));
  }

  void add_layer(int index) {
    if (source_of(index) != index) {
      value_of(index) = value_of(layer(index).inputs.front());
      return;
    }
    const auto named = result_names_.find(index);
    value_of(index) = named != result_names_.end() ? named->second : names_.unique(layer(index).name);
    if (named == result_names_.end()) set_type(*graph_.add_value_info(), value_of(index), layer(index).shape);
    std::visit([&](const auto& op) { add(op, index); }, layer(index).op);
  }

  // Each of these adds what computes a layer, of which value_of(index) is the name.

  void add(const Input&, int) {}
  void add(const Dropout&, int) {}
  void add(const StochasticDepth&, int) {}

  void add(const Linear&, int index) {
    onnx::NodeProto& node = add_node("Gemm", index);
    add_attribute(node, "transB", std::int64_t{1});
  }

  void add(const Conv2d& op, int index) {
    onnx::NodeProto& node = add_node("Conv", index);
    add_attribute(node, "kernel_shape", sides(op.kernel));
    add_attribute(node, "strides", sides(op.stride));
    add_attribute(node, "pads", {op.padding.height, op.padding.width, op.padding.height, op.padding.width});
    add_attribute(node, "group", op.groups);
  }

  void add(const BatchNorm& op, int index) {
    onnx::NodeProto& node = add_node("BatchNormalization", index);
    add_attribute(node, "epsilon", static_cast<float>(op.epsilon));
  }

  void add(const Activation& op, int index) {
    const std::string& x = value_of(layer(index).inputs.front());
    switch (op.kind) {
      case ActivationKind::kRelu:
        add_node("Relu", index);
        return;
      case ActivationKind::kRelu6: {
        const std::string least = add_floats(layer(index).name + ".least", {}, {0});
        const std::string most = add_floats(layer(index).name + ".most", {}, {6});
        add_node("Clip", {x, least, most}, value_of(index), layer(index).name);
        return;
      }
      case ActivationKind::kSigmoid:
        add_node("Sigmoid", index);
        return;
      case ActivationKind::kTanh:
        add_node("Tanh", index);
        return;
      case ActivationKind::kSilu: {
        const std::string gate = names_.unique(layer(index).name + ".sigmoid");
        add_node("Sigmoid", {x}, gate);
        add_node("Mul", {x, gate}, value_of(index), layer(index).name);
        return;
      }
      case ActivationKind::kHardSwish:
        add_node("HardSwish", index);
        return;
      case ActivationKind::kHardSigmoid: {
        onnx::NodeProto& node = add_node("HardSigmoid", index);
        add_attribute(node, "alpha", 1.0F / 6);
        add_attribute(node, "beta", 0.5F);
        return;
      }
    }
  }

  void add(const PRelu&, int index) { add_node("PRelu", index); }

  void add(const MaxPool& op, int index) {
    const Reach reach = reach_of(op, input_shape(index), layer(index).shape);
    onnx::NodeProto& node = add_node("MaxPool", index);
    add_window(node, op.kernel, op.stride, op.padding, reach.end);
  }

  void add(const AveragePool& op, int index) {
    const Reach reach = reach_of(op, input_shape(index), layer(index).shape);
    if (!op.count_include_pad || reach.beyond == 0) {
      onnx::NodeProto& node = add_node("AveragePool", index);
      add_window(node, op.kernel, op.stride, op.padding, reach.end);
      add_attribute(node, "count_include_pad", std::int64_t{op.count_include_pad});
      return;
    }
    // The layer's own zeros are in the means, what lies beyond them isn't.
    const Integers zeros = {0, 0, op.padding.height, op.padding.width, 0, 0, op.padding.height, op.padding.width};
    const std::string padded = add_pad(value_of(layer(index).inputs.front()), zeros, layer(index).name + ".padded");
    onnx::NodeProto& node = add_node("AveragePool", {padded}, value_of(index), layer(index).name);
    add_window(node, op.kernel, op.stride, 0, reach.beyond);
    add_attribute(node, "count_include_pad", std::int64_t{0});
  }

  void add(const GlobalAveragePool&, int index) { add_node("GlobalAveragePool", index); }
  void add(const Add&, int index) { add_node(layer(index).inputs.size() == 2 ? "Add" : "Sum", index); }
  void add(const Multiply&, int index) { add_node("Mul", index); }

  void add(const Scale& op, int index) {
    const std::string& name = layer(index).name;
    const std::string factor = add_floats(name + ".factor", {}, {static_cast<float>(op.factor)});
    add_node("Mul", {value_of(layer(index).inputs.front()), factor}, value_of(index), name);
  }

  void add(const FakeQuantize& op, int index) {
    const std::string& name = layer(index).name;
    const std::string zero = names_.unique(name + ".zero"), levels = names_.unique(name + ".levels");
    const std::int8_t none = 0;
    add_tensor(zero, {}, op.is_signed ? onnx::TensorProto::INT8 : onnx::TensorProto::UINT8, &none, sizeof none);
    const std::string& scale = of_layer_[index].front();
    add_node("QuantizeLinear", {value_of(layer(index).inputs.front()), scale, zero}, levels);
    add_node("DequantizeLinear", {levels, scale, zero}, value_of(index), name);
  }

  void add(const Concat&, int index) {
    onnx::NodeProto& node = add_node("Concat", index);
    add_attribute(node, "axis", std::int64_t{1});
  }

  void add(const Flatten&, int index) {
    onnx::NodeProto& node = add_node("Flatten", index);
    add_attribute(node, "axis", std::int64_t{1});
  }

  void add(const Rows& op, int index) {
    const std::string& name = layer(index).name;
    const std::string pixels = names_.unique(name + ".pixels");
    onnx::NodeProto& transpose = add_node("Transpose", {value_of(layer(index).inputs.front())}, pixels);
    add_attribute(transpose, "perm", {0, 2, 3, 1});
    const std::string shape = add_integers(name + ".shape", {0, layer(index).shape[0], op.values});
    add_node("Reshape", {pixels, shape}, value_of(index), name);
  }

  void add(const SubsamplePad& op, int index) {
    constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int32_t>::max();
    const std::string& name = layer(index).name;
    const std::string begins = add_integers(name + ".begins", {0, 0});
    const std::string ends = add_integers(name + ".ends", {kToTheEnd, kToTheEnd});
    const std::string axes = add_integers(name + ".axes", {2, 3});
    const std::string strides = add_integers(name + ".strides", {op.stride, op.stride});
    const std::string pixels = names_.unique(name + ".pixels");
    add_node("Slice", {value_of(layer(index).inputs.front()), begins, ends, axes, strides}, pixels);
    const std::int64_t added = op.out_channels - input_shape(index)[0];
    const std::string zeros = add_integers(name + ".zeros", {0, added / 2, 0, 0, 0, added - added / 2, 0, 0});
    add_node("Pad", {pixels, zeros}, value_of(index), name);
  }

  void add(const Pad& op, int index) {
    const std::string& name = layer(index).name;
    const std::string zeros =
        add_integers(name + ".zeros", {0, 0, op.before.height, op.before.width, 0, 0, op.after.height, op.after.width});
    add_node("Pad", {value_of(layer(index).inputs.front()), zeros}, value_of(index), name);
  }

  const Shape& input_shape(int index) const { return layer(layer(index).inputs.front()).shape; }

  /// A node that takes the layer's inputs and then its parameters.
  onnx::NodeProto& add_node(const char* kind, int index) {
    Values inputs;
    for (const int input : layer(index).inputs) inputs.push_back(value_of(input));
    const Values& parameters = of_layer_[index];
    inputs.insert(inputs.end(), parameters.begin(), parameters.end());
    return add_node(kind, inputs, value_of(index), layer(index).name);
  }

  onnx::NodeProto& add_node(const char* kind, const Values& inputs, const std::string& output,
                            const std::string& name) {
    onnx::NodeProto& node = *graph_.add_node();
    node.set_op_type(kind);
    node.set_name(node_names_.unique(name));
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
    return node;
  }
  onnx::NodeProto& add_node(const char* kind, const Values& inputs, const std::string& output) {
    return add_node(kind, inputs, output, output);
  }

  std::string add_pad(const std::string& x, const Integers& zeros, const std::string& name) {
    const std::string result = names_.unique(name);
    add_node("Pad", {x, add_integers(name + ".zeros", zeros)}, result);
    return result;
  }

  static void add_window(onnx::NodeProto& node, const Extent2d& kernel, const Extent2d& stride, const Extent2d& before,
                         const Extent2d& after) {
    add_attribute(node, "kernel_shape", sides(kernel));
    add_attribute(node, "strides", sides(stride));
    add_attribute(node, "pads", {before.height, before.width, after.height, after.width});
  }

  void add_tensor(const std::string& name, const Integers& shape, onnx::TensorProto::DataType type, const void* data,
                  std::size_t bytes) {
    onnx::TensorProto& tensor = *graph_.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const std::int64_t extent : shape) tensor.add_dims(extent);
    tensor.set_raw_data(data, bytes);
  }
  std::string add_floats(const std::string& name, const Integers& shape, const std::vector<float>& values) {
    const std::string given = names_.unique(name);
    add_tensor(given, shape, onnx::TensorProto::FLOAT, values.data(), values.size() * sizeof(float));
    return given;
  }
  std::string add_integers(const std::string& name, const Integers& values) {
    const std::string given = names_.unique(name);
    const Integers shape = {static_cast<std::int64_t>(values.size())};
    add_tensor(given, shape, onnx::TensorProto::INT64, values.data(), values.size() * sizeof(std::int64_t));
    return given;
  }

  const Network& network_;
  const TensorMap& state_;
  const OnnxOptions& options_;
  onnx::GraphProto& graph_;
  Names names_, node_names_;                         // of values and weights; of nodes
  std::vector<std::string> values_;                  // what each layer gives out
  std::map<int, Values> of_layer_;                   // weights, as parameters are ordered, which is how ONNX takes them
  std::map<int, std::string> result_names_;          // of layers whose results are outputs
  std::map<std::string, std::string> output_names_;  // in the file, by their own
};

}  // namespace

void write_graph(const Network& network, const TensorMap& state, const OnnxOptions& options, onnx::GraphProto& graph) {
  GraphWriter(network, state, options, graph).write();
}

}  // namespace evener::network::onnx_module
