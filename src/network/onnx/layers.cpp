// Operators are those of version 14 (https://github.com/onnx/onnx/blob/main/docs/Changelog.md). ceil_mode in pooling is
// written as explicit padding, since readers and versions of ONNX differ in what ceil_mode means for AveragePool.
#include "network/onnx/layers.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <variant>

#include "base/utf8.h"

namespace evener::network::onnx_module {
namespace {

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

  void operator()(const Linear&) const {
    onnx::NodeProto& node = add_node("Gemm");
    add_attribute(node, "transB", std::int64_t{1});
  }

  void operator()(const Conv2d& op) const {
    onnx::NodeProto& node = add_node("Conv");
    add_attribute(node, "kernel_shape", sides(op.kernel));
    add_attribute(node, "strides", sides(op.stride));
    add_attribute(node, "pads", {op.padding.height, op.padding.width, op.padding.height, op.padding.width});
    add_attribute(node, "group", op.groups);
  }

  void operator()(const BatchNorm& op) const {
    onnx::NodeProto& node = add_node("BatchNormalization");
    add_attribute(node, "epsilon", static_cast<float>(op.epsilon));
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
    const Reach reach = reach_of(op, at_.input_shape, at_.layer.shape);
    onnx::NodeProto& node = add_node("MaxPool");
    add_window(node, op.kernel, op.stride, op.padding, reach.end);
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
    const std::string padded = add_pad(at_.inputs.front(), zeros, at_.layer.name + ".padded");
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

  void operator()(const Concat&) const {
    onnx::NodeProto& node = add_node("Concat");
    add_attribute(node, "axis", std::int64_t{1});
  }

  void operator()(const Flatten&) const {
    onnx::NodeProto& node = add_node("Flatten");
    add_attribute(node, "axis", std::int64_t{1});
  }

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

  std::string add_pad(const std::string& x, const Integers& zeros, const std::string& name) const {
    const std::string result = graph_.unique(name);
    graph_.add_node("Pad", {x, graph_.add_integers(name + ".zeros", zeros)}, result);
    return result;
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

}  // namespace

std::string Names::unique(const std::string& wanted) {
  std::string name = to_utf8_text(wanted);
  while (!taken_.insert(name).second) name += '_';
  return name;
}

void set_type(onnx::ValueInfoProto& value, const std::string& name, const Shape& shape) {
  value.set_name(name);
  onnx::TypeProto::Tensor& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  type.mutable_shape()->add_dim()->set_dim_param("N");
  for (const std::int64_t extent : shape) type.mutable_shape()->add_dim()->set_dim_value(extent);
}

onnx::NodeProto& GraphBuilder::add_node(const char* kind, const Values& inputs, const std::string& output,
                                        const std::string& name) {
  onnx::NodeProto& node = *graph_.add_node();
  node.set_op_type(kind);
  node.set_name(nodes_.unique(name));
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

void GraphBuilder::add_tensor(const std::string& name, const Integers& shape, onnx::TensorProto::DataType type,
                              const void* data, std::size_t bytes) {
  onnx::TensorProto& tensor = *graph_.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const std::int64_t extent : shape) tensor.add_dims(extent);
  tensor.set_raw_data(data, bytes);
}

std::string GraphBuilder::add_floats(const std::string& name, const Integers& shape, const std::vector<float>& values) {
  const std::string given = unique(name);
  add_tensor(given, shape, onnx::TensorProto::FLOAT, values.data(), values.size() * sizeof(float));
  return given;
}

std::string GraphBuilder::add_integers(const std::string& name, const Integers& values) {
  const std::string given = unique(name);
  const Integers shape = {static_cast<std::int64_t>(values.size())};
  add_tensor(given, shape, onnx::TensorProto::INT64, values.data(), values.size() * sizeof(std::int64_t));
  return given;
}

void add_layer(const LayerToWrite& layer, GraphBuilder& graph) {
  std::visit(LayerNodes(layer, graph), layer.layer.op);
}

}  // namespace evener::network::onnx_module
