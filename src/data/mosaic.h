// Mosaics of four images with boxes: an object is then seen at other sizes, places and beside other things.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "data/image_shape.h"
#include "data/targets.h"

namespace evener::data {

/// Four images meet at a point: the sample itself and three partners, one in each corner, row by row. Each is scaled
/// and lies with one corner at that point, so that it fills its corner of the mosaic and is cut at the edges.
struct Mosaic {
  std::array<std::uint32_t, 4> samples{};
  double centre_x = 0.5, centre_y = 0.5;  // in shares of the sides
  std::array<double, 4> scales{};         // wanted; at least as much as fills the corner
};

/// Whether a sample becomes a mosaic in an epoch, and which; `share` of all do. `partners` must not be empty.
bool draw_mosaic(double share, std::span<const std::uint32_t> partners, std::uint64_t seed, std::uint64_t epoch,
                 std::uint32_t sample, Mosaic& mosaic);

/// Pastes the image (C, H, W) of samples[corner] into the mosaic, which has the same shape.
void paste_into_mosaic(const Mosaic& mosaic, std::size_t corner, const ImageShape& shape,
                       std::span<const std::uint8_t> image, std::span<std::uint8_t> chw);

/// Adds the boxes of samples[corner] where they then are. Of which less than a tenth is visible are left out.
void add_to_mosaic(const Mosaic& mosaic, std::size_t corner, const ImageShape& shape,
                   std::span<const LabelledBox> boxes, std::vector<LabelledBox>& all);

}  // namespace evener::data
