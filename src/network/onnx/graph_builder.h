// Nodes, constants and values of an ONNX graph, under names of which each is given once.
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

/// Names of which each is given once.
class Names {
 public:
  /// `wanted`, or where that is taken something like it.
  std::string unique(const std::string& wanted);

 private:
  std::set<std::string> taken_;
};

/// Images or vectors of a batch of any size.
void set_type(onnx::ValueInfoProto& value, const std::string& name, const Shape& shape);

class GraphBuilder {
 public:
  explicit GraphBuilder(onnx::GraphProto& graph) : graph_(graph) {}

  onnx::GraphProto& graph() { return graph_; }
  /// A name for a value or a constant.
  std::string unique(const std::string& wanted) { return values_.unique(wanted); }

  onnx::NodeProto& add_node(const char* kind, const Values& inputs, const std::string& output, const std::string& name);
  onnx::NodeProto& add_node(const char* kind, const Values& inputs, const std::string& output) {
    return add_node(kind, inputs, output, output);
  }

  /// Of row-major values. `name` is one that unique() gave.
  void add_tensor(const std::string& name, const Integers& shape, onnx::TensorProto::DataType type, const void* data,
                  std::size_t bytes);
  /// These give back the constant's name.
  std::string add_floats(const std::string& name, const Integers& shape, const std::vector<float>& values);
  std::string add_integers(const std::string& name, const Integers& values);

 private:
  onnx::GraphProto& graph_;
  Names values_, nodes_;
};

}  // namespace evener::network::onnx_module
