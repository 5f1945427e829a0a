// Graphs that a file fixes to one image, for any number of them.
#pragma once

#include <memory>
#include <openvino/core/model.hpp>

namespace evener::engine::openvino_engine {

/// The same graph for a batch of any size, which its input can be reshaped to; null where its batch isn't 1, or where
/// it would mix images. Constant shapes inside that begin with the batch take the batch that comes, and a list of
/// places that is given without a batch gets one as its first extent.
std::shared_ptr<ov::Model> with_free_batch(const std::shared_ptr<const ov::Model>& graph);

}  // namespace evener::engine::openvino_engine
