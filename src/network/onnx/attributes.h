// Attributes of ONNX's nodes. Inside network/onnx/ only.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <vector>

#include "network/network.h"

namespace evener::network::onnx_module {

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

}  // namespace evener::network::onnx_module
