// Values inside a graph: its constants, and the whole numbers of quantised networks.
#pragma once

#include <map>
#include <openvino/core/model.hpp>
#include <optional>
#include <vector>

namespace evener::engine::openvino_engine {

/// The map value * scale + shift.
struct LinearMap {
  float scale = 1, shift = 0;
};
/// The map from `from_least` to `to_least` and from `from_most`, which must differ from `from_least`, to `to_most`.
LinearMap map_between(float from_least, float from_most, float to_least, float to_most);

/// The number that stands for a black pixel in an input of bytes: 0, or -128 if they are signed. Absent for other
/// types.
std::optional<float> black_of(const ov::element::Type& type);

/// The map from an output's whole numbers to the values that the graph quantised to them. The identity where it doesn't
/// quantise, as for class indices.
LinearMap meaning_of(const ov::Output<const ov::Node>& result);

/// Evaluates the parts of a graph that don't depend on its input: weights, in whatever form a file stores them.
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
