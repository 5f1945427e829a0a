// Mosaic augmentation of images with boxes: four images in one, so that objects are seen at other sizes and places and
// beside other objects.
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
  std::array<double, 4> scales{};         // wanted scale of each image, raised where needed to fill its corner
};

/// Draws whether a sample becomes a mosaic in an epoch, with probability `share`, and if so writes `mosaic`.
/// `partners`, of which the other three images are drawn, must not be empty.
bool draw_mosaic(double share, std::span<const std::uint32_t> partners, std::uint64_t seed, std::uint64_t epoch,
                 std::uint32_t sample, Mosaic& mosaic);

/// Pastes the image (C, H, W) of samples[corner] into the mosaic, which has the same shape.
void paste_into_mosaic(const Mosaic& mosaic, std::size_t corner, const ImageShape& shape,
                       std::span<const std::uint8_t> image, std::span<std::uint8_t> chw);

/// Adds the boxes of samples[corner], moved to their places in the mosaic, to `all`. Boxes of which less than a tenth
/// is visible are left out.
void add_to_mosaic(const Mosaic& mosaic, std::size_t corner, const ImageShape& shape,
                   std::span<const LabelledBox> boxes, std::vector<LabelledBox>& all);

}  // namespace evener::data
