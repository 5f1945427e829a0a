// Adds nodes, constants and values to an ONNX graph under unique names.
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

}  // namespace evener::network::onnx_module
