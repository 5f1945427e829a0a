// Evaluates the parts of a graph that don't depend on its input: weights, in whatever form a file stores them.
#pragma once

#include <map>
#include <openvino/core/model.hpp>
#include <vector>

namespace evener::engine::openvino_engine {

class Constants {
 public:
  /// Evaluates all of them. The graph must outlive this.
  explicit Constants(const ov::Model& graph);

  bool contains(const ov::Output<ov::Node>& value) const { return values_.contains(value.get_node()); }
  /// Throws Error for a value that depends on the graph's input, or that the library can't compute.
  const ov::Tensor& tensor(const ov::Output<ov::Node>& value) const;
  std::vector<float> floats(const ov::Output<ov::Node>& value) const;
  std::vector<std::int64_t> integers(const ov::Output<ov::Node>& value) const;

 private:
  std::map<const ov::Node*, ov::Tensor> values_;  // empty ones couldn't be computed
};

}  // namespace evener::engine::openvino_engine
