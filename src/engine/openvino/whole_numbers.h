// The whole numbers that graphs of quantised networks take and return, and the values that they stand for.
#pragma once

#include <openvino/core/model.hpp>
#include <optional>

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

}  // namespace evener::engine::openvino_engine
