// The whole numbers that graphs of quantised networks take and give, and what they stand for.
#pragma once

#include <openvino/core/model.hpp>
#include <optional>

namespace evener::engine::openvino_engine {

/// value * scale + shift.
struct LinearMap {
  float scale = 1, shift = 0;
};
/// The one that makes `to_least` of `from_least` and `to_most` of `from_most`, which differ.
LinearMap map_between(float from_least, float from_most, float to_least, float to_most);

/// What a pixel of 0 is for an input of bytes: 0, or -128 where they have a sign. Absent: of another type.
std::optional<float> black_of(const ov::element::Type& type);

/// From the whole numbers that an output gives to the values that the graph rounds there; leaves values as they are
/// where it rounds none, such as the numbers of classes.
LinearMap meaning_of(const ov::Output<const ov::Node>& result);

}  // namespace evener::engine::openvino_engine
