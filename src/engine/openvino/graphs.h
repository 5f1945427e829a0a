// Graphs of OpenVINO: made of a Network with its weights (lower.cpp), read back into one (describe.cpp), changed
// (graph_changes.cpp), and the values inside them (values.cpp).
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <openvino/core/model.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "engine/model_file.h"
#include "network/network.h"

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

/// See ModelFile::scales_pixels.
bool scales_pixels(const ov::Model& graph);

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

/// The suffix of the node's name that computes a layer before its bias is added; the sum has the layer's own name.
constexpr const char* kProductSuffix = "/product";

/// The graph of `network` for float32 images (batch, C, H, W), called "images"; its results bear the names of the
/// network's outputs. Batch-norms use their running statistics, dropouts do nothing. The graph keeps `state` alive and
/// reads its float32 weights in place. `any_size`: batch, H and W are left open; throws Error for layers that need to
/// know them. Throws Error for a tensor that `state` lacks or that has another shape.
std::shared_ptr<ov::Model> lower(const network::Network& network, std::shared_ptr<const TensorMap> state,
                                 std::int64_t batch, bool any_size = false);

/// See ModelFile::describe. `graph`: with a batch of 1 and all extents known. `outputs`: names of its results.
DescribedNetwork describe(const std::shared_ptr<ov::Model>& graph, const std::string& name, const ModelInput& input,
                          const std::vector<std::string>& outputs);

/// The same graph for a batch of any size, which its input can be reshaped to; null where its batch isn't 1, or where
/// it would mix images. Constant shapes inside that begin with the batch take the batch that comes, and a list of
/// places that is given without a batch gets one as its first extent.
std::shared_ptr<ov::Model> with_free_batch(const std::shared_ptr<const ov::Model>& graph);

/// What computes the value.
MadeBy maker_of(const ov::Node* node);

/// Replaces an output's one value per sample by two: a probability p by 1 - p and p, a score z by 0 and z, whose
/// softmax is the sigmoid of z. The value is a probability if a sigmoid computes it, or if `is_probability`. `meaning`:
/// the map from the output's numbers to values.
void give_two_classes(ov::Model& graph, std::size_t output, LinearMap meaning, bool is_probability);

/// The layers that can be quantised, by name, in the order of computation.
std::vector<std::string> quantizable_layers(const ov::Model& graph);

/// Replaces the outputs by (1, 2), the least and the most, of each value that such a layer reads. Returns their names.
std::vector<std::string> give_extents(ov::Model& graph);

/// Rounds inputs and weights, to levels that OpenVINO's plugins compute in int8 (FakeQuantize), of all layers but those
/// that are kept. Weights have a symmetric range for each of their outputs, values one for all, in which 0 is a level.
/// Throws Error where the extent of a value is missing.
void quantize(ov::Model& graph, const FileQuantization& how);

}  // namespace evener::engine::openvino_engine
