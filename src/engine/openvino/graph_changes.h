// Changes to the graphs that files bring: a free batch, two classes in place of one value, rounded layers.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <openvino/core/model.hpp>
#include <openvino/openvino.hpp>
#include <string>
#include <vector>

#include "engine/model_file.h"
#include "engine/openvino/values.h"

namespace evener::engine::openvino_engine {

/// The same graph for a batch of any size, which its input can be reshaped to; null where its batch isn't 1, or where
/// it would mix images. Constant shapes inside that begin with the batch take the batch that comes, and a list of
/// places that is given without a batch gets one as its first extent.
std::shared_ptr<ov::Model> with_free_batch(const std::shared_ptr<const ov::Model>& graph);

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
