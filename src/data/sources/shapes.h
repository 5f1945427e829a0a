// Pictures of several coloured shapes, each with its box: objects to detect.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "data/codecs/picture.h"
#include "data/sources/drawings.h"
#include "data/targets.h"

namespace evener::data {

/// The size the shapes are laid out for, in both directions; other sizes are scaled.
constexpr std::int64_t kShapesExtent = 128;

/// circle, square, triangle.
const std::vector<std::string>& shape_names();

/// One shape on a picture.
struct PlacedShape {
  std::vector<Point> outline;  // in pixels of the picture; may reach beyond its edges
  std::array<double, 3> colour{};
  /// Around all of the shape that is on the picture, also where later shapes hide it; truncated where an edge cuts it.
  LabelledBox box;
};

/// The shapes of a picture of width x height pixels, from the back to the front: up to six, none on few pictures. What
/// varies: number, kind, size, place, proportions, rotation and colour. Boxes overlap by a limited part. The same
/// random numbers give the same picture at every size.
std::vector<PlacedShape> lay_out_shapes(Random random, std::int64_t width, std::int64_t height);

/// Draws those shapes on a background of changing colour with noise, as (C, H, W) of `shape`. One channel gets the luma
/// of the colours.
void draw_shapes(Random random, const ImageShape& shape, std::span<std::uint8_t> chw);

}  // namespace evener::data
