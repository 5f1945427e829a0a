// The ONNX nodes that compute a layer, for each kind of layer, and the graph that they are added to.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "network/network.h"

namespace evener::network::onnx_module {

using Integers = std::vector<std::int64_t>;
using Values = std::vector<std::string>;  // by their names

/// Hands out names, each only once.
class Names {
 public:
  /// Returns `wanted`, or a similar name where `wanted` is taken.
  std::string unique(const std::string& wanted);

 private:
  std::set<std::string> taken_;
};

/// Declares `value` as float32 (N, `shape`), with a batch N of any size.
void set_type(onnx::ValueInfoProto& value, const std::string& name, const Shape& shape);

/// Adds nodes, constants and values to an ONNX graph under unique names.
class GraphBuilder {
 public:
  explicit GraphBuilder(onnx::GraphProto& graph) : graph_(graph) {}

  onnx::GraphProto& graph() { return graph_; }
  /// Returns an unused name for a value or a constant.
  std::string unique(const std::string& wanted) { return values_.unique(wanted); }

  onnx::NodeProto& add_node(const char* kind, const Values& inputs, const std::string& output, const std::string& name);
  onnx::NodeProto& add_node(const char* kind, const Values& inputs, const std::string& output) {
    return add_node(kind, inputs, output, output);
  }

  /// Adds a constant of row-major values. `name` is one that unique() returned.
  void add_tensor(const std::string& name, const Integers& shape, onnx::TensorProto::DataType type, const void* data,
                  std::size_t bytes);
  /// These return the constant's name.
  std::string add_floats(const std::string& name, const Integers& shape, const std::vector<float>& values);
  std::string add_integers(const std::string& name, const Integers& values);

 private:
  onnx::GraphProto& graph_;
  Names values_, nodes_;
};

inline void add_attribute(onnx::NodeProto& node, const char* name, float value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(value);
}

inline void add_attribute(onnx::NodeProto& node, const char* name, std::int64_t value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

inline void add_attribute(onnx::NodeProto& node, const char* name, const std::vector<std::int64_t>& values) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
}

inline std::vector<std::int64_t> sides(const Extent2d& extent) {
  return {extent.height, extent.width};
}

/// The ONNX nodes that compute a layer, for each kind of layer.
/// A layer and the values around it.
struct LayerToWrite {
  const Layer& layer;
  const Shape& input_shape;  // of its first input
  Values inputs;
  Values parameters;  // names of its weights, in the order of the ONNX operator's inputs
  std::string value;  // the name that its result is to have
};

void add_layer(const LayerToWrite& layer, GraphBuilder& graph);

}  // namespace evener::network::onnx_module
