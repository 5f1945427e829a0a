// The module's entry, which base/module.h looks for, and the OnnxWriter that it creates.
// Operators are those of version 14 (https://github.com/onnx/onnx/blob/main/docs/Changelog.md). ceil_mode in pooling is
// written as explicit padding, since readers and versions of ONNX differ in what ceil_mode means for AveragePool.
#include <google/protobuf/stubs/common.h>
#include <onnx/checker.h>
#include <onnx/common/version.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/module_entry.h"
#include "base/names.h"
#include "base/utf8.h"
#include "network/onnx_file.h"
#include "network/quantization.h"

namespace evener::network::onnx_module {
namespace {

using Integers = std::vector<std::int64_t>;
using Values = std::vector<std::string>;  // by their names

/// Hands out names, each only once.
class Names {
 public:
  /// Returns `wanted`, or a similar name where `wanted` is taken.
  std::string unique(const std::string& wanted) {
    std::string name = to_utf8_text(wanted);
    while (!taken_.insert(name).second) name += '_';
    return name;
  }

 private:
  std::set<std::string> taken_;
};

/// Declares `value` as float32 (N, `shape`), with a batch N of any size.
void set_type(onnx::ValueInfoProto& value, const std::string& name, const Shape& shape) {
  value.set_name(name);
  onnx::TypeProto::Tensor& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  type.mutable_shape()->add_dim()->set_dim_param("N");
  for (const std::int64_t extent : shape) type.mutable_shape()->add_dim()->set_dim_value(extent);
}

/// Adds nodes, constants and values to an ONNX graph under unique names.
class GraphBuilder {
 public:
  explicit GraphBuilder(onnx::GraphProto& graph) : graph_(graph) {}

  /// Returns an unused name for a value or a constant.
  std::string unique(const std::string& wanted) { return values_.unique(wanted); }

  /// `name`: of the node; "" = that of its output.
  onnx::NodeProto& add_node(const char* kind, const Values& inputs, const std::string& output,
                            const std::string& name = "") {
    onnx::NodeProto& node = *graph_.add_node();
    node.set_op_type(kind);
    node.set_name(nodes_.unique(name.empty() ? output : name));
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
    return node;
  }

  /// Adds a constant of row-major values. `name` is one that unique() returned.
  void add_tensor(const std::string& name, const Integers& shape, onnx::TensorProto::DataType type, const void* data,
                  std::size_t bytes) {
    onnx::TensorProto& tensor = *graph_.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const std::int64_t extent : shape) tensor.add_dims(extent);
    tensor.set_raw_data(data, bytes);
  }

  /// These return the constant's name.
  std::string add_floats(const std::string& name, const Integers& shape, const std::vector<float>& values) {
    const std::string given = unique(name);
    add_tensor(given, shape, onnx::TensorProto::FLOAT, values.data(), values.size() * sizeof(float));
    return given;
  }
  std::string add_integers(const std::string& name, const Integers& values) {
    const std::string given = unique(name);
    const Integers shape = {static_cast<std::int64_t>(values.size())};
    add_tensor(given, shape, onnx::TensorProto::INT64, values.data(), values.size() * sizeof(std::int64_t));
    return given;
  }

 private:
  onnx::GraphProto& graph_;
  Names values_, nodes_;
};

onnx::AttributeProto& new_attribute(onnx::NodeProto& node, const char* name, onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

void add_attribute(onnx::NodeProto& node, const char* name, float value) {
  new_attribute(node, name, onnx::AttributeProto::FLOAT).set_f(value);
}

void add_attribute(onnx::NodeProto& node, const char* name, std::int64_t value) {
  new_attribute(node, name, onnx::AttributeProto::INT).set_i(value);
}

void add_attribute(onnx::NodeProto& node, const char* name, const Integers& values) {
  onnx::AttributeProto& attribute = new_attribute(node, name, onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
}

Integers sides(const Extent2d& extent) {
  return {extent.height, extent.width};
}

/// A layer and the values around it.
struct LayerToWrite {
  const Layer& layer;
  const Shape& input_shape;  // of its first input
  Values inputs;
  Values parameters;  // names of its weights, in the order of the ONNX operator's inputs
  std::string value;  // the name that its result is to have
};

/// The padding at the end that contains a pooling's last window: `end` rows and columns, of which `beyond` are in
/// addition to the layer's own padding.
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

/// Adds the nodes of a layer; std::visit calls it with the layer's operation.
class LayerNodes {
 public:
  LayerNodes(const LayerToWrite& at, GraphBuilder& graph) : at_(at), graph_(graph) {}

  // Inputs and dropouts have no nodes.
  void operator()(const Input&) const {}
  void operator()(const Dropout&) const {}
  void operator()(const StochasticDepth&) const {}

  void operator()(const Linear&) const { add_attribute(add_node("Gemm"), "transB", std::int64_t{1}); }

  void operator()(const Conv2d& op) const {
    onnx::NodeProto& node = add_node("Conv");
    add_window(node, op.kernel, op.stride, op.padding, op.padding);
    add_attribute(node, "group", op.groups);
  }

  void operator()(const BatchNorm& op) const {
    add_attribute(add_node("BatchNormalization"), "epsilon", static_cast<float>(op.epsilon));
  }

  void operator()(const Activation& op) const {
    const std::string& x = at_.inputs.front();
    switch (op.kind) {
      case ActivationKind::kRelu:
        add_node("Relu");
        return;
      case ActivationKind::kRelu6: {
        const std::string least = graph_.add_floats(at_.layer.name + ".least", {}, {0});
        const std::string most = graph_.add_floats(at_.layer.name + ".most", {}, {6});
        graph_.add_node("Clip", {x, least, most}, at_.value, at_.layer.name);
        return;
      }
      case ActivationKind::kSigmoid:
        add_node("Sigmoid");
        return;
      case ActivationKind::kTanh:
        add_node("Tanh");
        return;
      case ActivationKind::kSilu: {
        const std::string gate = graph_.unique(at_.layer.name + ".sigmoid");
        graph_.add_node("Sigmoid", {x}, gate);
        graph_.add_node("Mul", {x, gate}, at_.value, at_.layer.name);
        return;
      }
      case ActivationKind::kHardSwish:
        add_node("HardSwish");
        return;
      case ActivationKind::kHardSigmoid: {
        onnx::NodeProto& node = add_node("HardSigmoid");
        add_attribute(node, "alpha", 1.0F / 6);
        add_attribute(node, "beta", 0.5F);
        return;
      }
    }
  }

  void operator()(const PRelu&) const { add_node("PRelu"); }

  void operator()(const MaxPool& op) const {
    add_window(add_node("MaxPool"), op.kernel, op.stride, op.padding,
               reach_of(op, at_.input_shape, at_.layer.shape).end);
  }

  void operator()(const AveragePool& op) const {
    const Reach reach = reach_of(op, at_.input_shape, at_.layer.shape);
    if (!op.count_include_pad || reach.beyond == 0) {
      onnx::NodeProto& node = add_node("AveragePool");
      add_window(node, op.kernel, op.stride, op.padding, reach.end);
      add_attribute(node, "count_include_pad", std::int64_t{op.count_include_pad});
      return;
    }
    // The layer's own padding counts in the means, padding beyond it doesn't: so the former needs a Pad node.
    const Integers zeros = {0, 0, op.padding.height, op.padding.width, 0, 0, op.padding.height, op.padding.width};
    const std::string padded = graph_.unique(at_.layer.name + ".padded");
    graph_.add_node("Pad", {at_.inputs.front(), graph_.add_integers(at_.layer.name + ".padded.zeros", zeros)}, padded);
    onnx::NodeProto& node = graph_.add_node("AveragePool", {padded}, at_.value, at_.layer.name);
    add_window(node, op.kernel, op.stride, 0, reach.beyond);
    add_attribute(node, "count_include_pad", std::int64_t{0});
  }

  void operator()(const GlobalAveragePool&) const { add_node("GlobalAveragePool"); }
  void operator()(const Add&) const { add_node(at_.inputs.size() == 2 ? "Add" : "Sum"); }
  void operator()(const Multiply&) const { add_node("Mul"); }

  void operator()(const Scale& op) const {
    const std::string& name = at_.layer.name;
    const std::string factor = graph_.add_floats(name + ".factor", {}, {static_cast<float>(op.factor)});
    graph_.add_node("Mul", {at_.inputs.front(), factor}, at_.value, name);
  }

  void operator()(const FakeQuantize& op) const {
    const std::string& name = at_.layer.name;
    const std::string zero = graph_.unique(name + ".zero"), levels = graph_.unique(name + ".levels");
    const std::int8_t none = 0;
    graph_.add_tensor(zero, {}, op.is_signed ? onnx::TensorProto::INT8 : onnx::TensorProto::UINT8, &none, sizeof none);
    const std::string& scale = at_.parameters.front();
    graph_.add_node("QuantizeLinear", {at_.inputs.front(), scale, zero}, levels);
    graph_.add_node("DequantizeLinear", {levels, scale, zero}, at_.value, name);
  }

  void operator()(const Concat&) const { add_attribute(add_node("Concat"), "axis", std::int64_t{1}); }
  void operator()(const Flatten&) const { add_attribute(add_node("Flatten"), "axis", std::int64_t{1}); }

  void operator()(const Rows& op) const {
    const std::string& name = at_.layer.name;
    const std::string pixels = graph_.unique(name + ".pixels");
    onnx::NodeProto& transpose = graph_.add_node("Transpose", {at_.inputs.front()}, pixels);
    add_attribute(transpose, "perm", {0, 2, 3, 1});
    const std::string shape = graph_.add_integers(name + ".shape", {0, at_.layer.shape[0], op.values});
    graph_.add_node("Reshape", {pixels, shape}, at_.value, name);
  }

  void operator()(const SubsamplePad& op) const {
    constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int32_t>::max();
    const std::string& name = at_.layer.name;
    const std::string begins = graph_.add_integers(name + ".begins", {0, 0});
    const std::string ends = graph_.add_integers(name + ".ends", {kToTheEnd, kToTheEnd});
    const std::string axes = graph_.add_integers(name + ".axes", {2, 3});
    const std::string strides = graph_.add_integers(name + ".strides", {op.stride, op.stride});
    const std::string pixels = graph_.unique(name + ".pixels");
    graph_.add_node("Slice", {at_.inputs.front(), begins, ends, axes, strides}, pixels);
    const std::int64_t added = op.out_channels - at_.input_shape[0];
    const std::string zeros = graph_.add_integers(name + ".zeros", {0, added / 2, 0, 0, 0, added - added / 2, 0, 0});
    graph_.add_node("Pad", {pixels, zeros}, at_.value, name);
  }

  void operator()(const Pad& op) const {
    const std::string& name = at_.layer.name;
    const std::string zeros = graph_.add_integers(
        name + ".zeros", {0, 0, op.before.height, op.before.width, 0, 0, op.after.height, op.after.width});
    graph_.add_node("Pad", {at_.inputs.front(), zeros}, at_.value, name);
  }

 private:
  /// Adds a node whose inputs are the layer's inputs and then its parameters.
  onnx::NodeProto& add_node(const char* kind) const {
    Values inputs = at_.inputs;
    inputs.insert(inputs.end(), at_.parameters.begin(), at_.parameters.end());
    return graph_.add_node(kind, inputs, at_.value, at_.layer.name);
  }

  static void add_window(onnx::NodeProto& node, const Extent2d& kernel, const Extent2d& stride, const Extent2d& before,
                         const Extent2d& after) {
    add_attribute(node, "kernel_shape", sides(kernel));
    add_attribute(node, "strides", sides(stride));
    add_attribute(node, "pads", {before.height, before.width, after.height, after.width});
  }

  const LayerToWrite& at_;
  GraphBuilder& graph_;
};

/// The version of ONNX's operators that the graphs are made of: the first that has HardSwish, so that readers of the
/// year 2021 and later take the files.
constexpr int kOperatorSet = 14;

/// Writes the layers of a network as the nodes of an ONNX graph: nodes, weights, inputs, outputs, and the shape of
/// every value.
class GraphWriter {
 public:
  GraphWriter(const Network& network, const TensorMap& state, const OnnxOptions& options, onnx::GraphProto& graph)
      : network_(network),
        state_(state),
        options_(options),
        builder_(graph),
        graph_(graph),
        values_(network.layers().size()) {}

  void write() {
    graph_.set_name(to_utf8_text(network_.model()));
    name_outputs();
    add_input();
    for (const Parameter& parameter : network_.parameters()) add_parameter(parameter);
    for (std::size_t i = 1; i < network_.layers().size(); ++i) add_layer(static_cast<int>(i));
    for (const Output& output : network_.outputs()) add_output(output);
    if (options_.distance) add_distance(*options_.distance);
  }

 private:
  const Layer& layer(int index) const { return network_.layers()[static_cast<std::size_t>(index)]; }
  std::string& value_of(int index) { return values_[static_cast<std::size_t>(index)]; }

  /// The layer whose value is the output of layer `index`: dropouts have no nodes in the graph, so it is the layer
  /// before them.
  int source_of(int index) const {
    while (std::holds_alternative<Dropout>(layer(index).op) || std::holds_alternative<StochasticDepth>(layer(index).op))
      index = layer(index).inputs.front();
    return index;
  }

  /// Reserves the names of outputs before all others, and gives them to the layers that compute outputs.
  void name_outputs() {
    for (const Output& output : network_.outputs()) {
      const std::string name = builder_.unique(output.name);
      output_names_[output.name] = name;
      const int source = source_of(output.layer);
      if (source != 0) result_names_.emplace(source, name);
    }
  }

  void add_input() {
    const Shape& shape = network_.input_shape();
    std::string value = builder_.unique(layer(0).name);
    set_type(*graph_.add_input(), value, shape);
    if (!options_.pixel_scale.empty()) {
      Integers extents(shape.size(), 1);
      extents.front() = shape.front();
      const std::string scale = builder_.add_floats("normalization.scale", extents, options_.pixel_scale);
      const std::string shift = builder_.add_floats("normalization.shift", extents, options_.pixel_shift);
      for (const auto& [kind, by] : {std::pair{"Mul", scale}, std::pair{"Add", shift}}) {
        const std::string result = builder_.unique("normalization");
        builder_.add_node(kind, {value, by}, result);
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
    // ONNX aligns the slope's last extent with the input's last one, not with the channels.
    if (std::holds_alternative<PRelu>(owner.op)) shape.resize(owner.shape.size(), 1);
    if (std::holds_alternative<FakeQuantize>(owner.op)) {
      // ONNX wants the scale of a whole tensor as a scalar.
      of_layer_[parameter.layer].push_back(builder_.add_floats(parameter.name, {}, steps_of(tensor)));
      return;
    }
    const std::string name = builder_.unique(parameter.name);
    builder_.add_tensor(name, shape, onnx::TensorProto::FLOAT, tensor.bytes.data(), tensor.bytes.size());
    of_layer_[parameter.layer].push_back(name);
  }

  /// Scales clamped to kLeastScale as engines do, since training may move them below.
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

  /// Adds weights as whole numbers, and the node that dequantises them.
  void add_quantized_weight(const Parameter& parameter, int bits) {
    const HostTensor &weight = state_.at(parameter.name), &scale = state_.at(parameter.name + "_scale");
    const std::string levels = builder_.unique(parameter.name + ".levels");
    const HostTensor whole = quantized_weights(weight, scale, bits);
    builder_.add_tensor(levels, parameter.shape, onnx::TensorProto::INT8, whole.bytes.data(), whole.bytes.size());
    const std::string scales = builder_.add_floats(parameter.name + "_scale", scale.shape, steps_of(scale));
    const std::string zeros = builder_.unique(parameter.name + ".zeros");
    const std::vector<std::int8_t> zero(static_cast<std::size_t>(scale.shape.front()), 0);
    builder_.add_tensor(zeros, scale.shape, onnx::TensorProto::INT8, zero.data(), zero.size());
    const std::string name = builder_.unique(parameter.name);
    add_attribute(builder_.add_node("DequantizeLinear", {levels, scales, zeros}, name), "axis", std::int64_t{0});
    of_layer_[parameter.layer].push_back(name);
  }

  void add_output(const Output& output) {
    const std::string& name = output_names_.at(output.name);
    if (value_of(output.layer) != name) builder_.add_node("Identity", {value_of(output.layer)}, name);
    set_type(*graph_.add_output(), name, network_.output_shape(output));
  }

  void add_layer(int index) {
    if (source_of(index) != index) {
      value_of(index) = value_of(layer(index).inputs.front());
      return;
    }
    const auto named = result_names_.find(index);
    value_of(index) = named != result_names_.end() ? named->second : builder_.unique(layer(index).name);
    if (named == result_names_.end()) set_type(*graph_.add_value_info(), value_of(index), layer(index).shape);
    Values inputs;
    for (const int input : layer(index).inputs) inputs.push_back(value_of(input));
    const Shape& input_shape = layer(layer(index).inputs.front()).shape;
    const LayerToWrite written{layer(index), input_shape, std::move(inputs), of_layer_[index], value_of(index)};
    std::visit(LayerNodes(written, builder_), layer(index).op);
  }

  /// |z - m|^2 as |z|^2 - 2 z m + |m|^2, of which the last two are one Gemm.
  void add_distance(const OnnxDistance& distance) {
    const std::string& name = distance.output;
    const std::int64_t values = layer(distance.layer).shape.front();
    const auto points = static_cast<std::int64_t>(distance.points.size()) / values;
    const auto node = [&](const char* kind, const Values& inputs, const char* result) {
      const std::string value = builder_.unique(name + "." + result);
      return std::pair<onnx::NodeProto&, std::string>(builder_.add_node(kind, inputs, value), value);
    };
    const std::string output = builder_.unique(name);
    const std::string& x = value_of(distance.layer);
    auto [length, length_value] = node("ReduceL2", {x}, "length");
    add_attribute(length, "axes", Integers{1});
    const std::string least = builder_.add_floats(name + ".least", {1}, {1e-30F});
    const std::string divisor = node("Max", {length_value, least}, "divisor").second;
    const std::string unit = node("Div", {x, divisor}, "unit").second;
    const std::string whitening = builder_.add_floats(name + ".whitening", {values, values}, distance.whitening);
    auto [product, whitened] = node("Gemm", {unit, whitening}, "whitened");
    add_attribute(product, "transB", std::int64_t{1});
    std::vector<float> norms;
    for (std::int64_t p = 0; p < points; ++p) {
      double norm = 0;
      for (std::int64_t j = 0; j < values; ++j) {
        const double value = distance.points[static_cast<std::size_t>(p * values + j)];
        norm += value * value;
      }
      norms.push_back(static_cast<float>(norm));
    }
    const std::string centres = builder_.add_floats(name + ".points", {points, values}, distance.points);
    const std::string squares = builder_.add_floats(name + ".squares", {points}, norms);
    auto [nearness, distances] = node("Gemm", {whitened, centres, squares}, "distances");
    add_attribute(nearness, "transB", std::int64_t{1});
    add_attribute(nearness, "alpha", -2.0F);
    auto [minimum, nearest] = node("ReduceMin", {distances}, "nearest");
    add_attribute(minimum, "axes", Integers{1});
    const std::string square = node("Mul", {whitened, whitened}, "square").second;
    const std::string axes = builder_.add_integers(name + ".axes", {1});
    const std::string own = node("ReduceSum", {square, axes}, "own").second;
    const std::string sum = node("Add", {own, nearest}, "sum").second;
    const std::string share = builder_.add_floats(name + ".share", {}, {static_cast<float>(1 / distance.limit)});
    builder_.add_node("Mul", {sum, share}, output);
    set_type(*graph_.add_output(), output, {1});
  }

  const Network& network_;
  const TensorMap& state_;
  const OnnxOptions& options_;
  GraphBuilder builder_;
  onnx::GraphProto& graph_;
  std::vector<std::string> values_;  // the name of each layer's result
  // Weights of each layer, in the order of its parameters, which is that of ONNX's inputs.
  std::map<int, Values> of_layer_;
  std::map<int, std::string> result_names_;          // of layers whose results are outputs
  std::map<std::string, std::string> output_names_;  // names of outputs in the file, by their names in the network
};

// The version of ONNX's file format (IR) that came with the operators of kOperatorSet.
constexpr int kFormatVersion = 7;

onnx::ModelProto make_model(const Network& network, const TensorMap& state, const OnnxOptions& options) {
  onnx::ModelProto model;
  model.set_ir_version(kFormatVersion);
  model.set_producer_name("evener");
  model.set_producer_version(EVENER_VERSION);
  onnx::OperatorSetIdProto& operators = *model.add_opset_import();
  operators.set_domain("");
  operators.set_version(kOperatorSet);
  for (const auto& [key, value] : options.metadata) {
    onnx::StringStringEntryProto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  GraphWriter(network, state, options, *model.mutable_graph()).write();
  return model;
}

/// Checks the model by ONNX's own rules: operators and attributes must be valid, every value computed before it is
/// used, and the shapes that we wrote equal to those that ONNX infers.
void check(onnx::ModelProto& model) {
  try {
    onnx::checker::check_model(model);
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(),
                                       onnx::ShapeInferenceOptions(/*check_type=*/true, /*strict_mode=*/1));
  } catch (const std::exception& error) {
    throw Error("'" + model.graph().name() +
                "' did not become a valid ONNX file, which is an error of evener: " + error.what());
  }
}

class FileWriter : public OnnxWriter {
 public:
  void write(const std::filesystem::path& path, const Network& network, const TensorMap& state,
             const OnnxOptions& options) override {
    onnx::ModelProto model = make_model(network, state, options);
    check(model);
    const std::size_t bytes = model.ByteSizeLong();
    if (bytes > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
      throw Error("'" + path.string() + "' would have " + bytes_text(bytes) + ", and an ONNX file ends at 2 GB");
    }
    write_file_atomically(path, [&](std::ostream& out) { model.SerializeToOstream(&out); });
  }
};

const char* version() {
  static const std::string text = std::string("ONNX ") + onnx::LAST_RELEASE_VERSION + ", protobuf " +
                                  google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION);
  return text.c_str();
}

}  // namespace
}  // namespace evener::network::onnx_module

extern "C" {
extern const evener::ModuleEntry evener_module;
const evener::ModuleEntry evener_module =
    evener::module_entry<evener::network::OnnxWriter, evener::network::onnx_module::FileWriter>(
        evener::network::onnx_module::version);
}
