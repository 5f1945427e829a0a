#include "network/onnx/graph_builder.h"

#include "base/utf8.h"

namespace evener::network::onnx_module {

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

}  // namespace evener::network::onnx_module
