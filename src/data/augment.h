// Augmentation: random changes of training images. They are keyed by (seed, epoch, sample) alone, and not by the thread
// or rank that asks, so that every placement and number of threads trains on the same pixels. A mosaic makes one of
// four images with boxes, so that objects are seen at other sizes and places and beside other objects.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/batch.h"
#include "data/codecs/picture.h"
#include "data/targets.h"

namespace evener::data {

/// The changes, in the order in which they are made. None by default.
struct AugmentOptions {
  double mosaic = 0;              // share of the images that become mosaics of four; 0 = off
  bool iou_crop = false;          // random crop as in SSD, by how much of the boxes it leaves
  double least_area = 0;          // random resized crop of at least this share of the area; 0 = off
  std::int64_t crop_padding = 0;  // random shift by up to this many pixels, filled with black; 0 = off
  bool flip = false;              // mirror half of the images, left to right
  double colour = 0;              // brightness, contrast and saturation by up to this share; 0 = off
  double mixup = 0;               // alpha of the Beta distribution of the weights; 0 = off

  bool any() const {
    return mosaic > 0 || iou_crop || least_area > 0 || crop_padding > 0 || flip || colour > 0 || mixup > 0;
  }
  bool has_moves() const { return crop_padding > 0 || flip; }
  bool operator==(const AugmentOptions&) const = default;
};

/// Those of the options that can only be done on pixels in host memory, such as "resized-crop, mosaic"; "" where a
/// device can do everything by ImageMove, ColourChange and mixing.
std::string done_on_host(const AugmentOptions& options);

/// Reads "flip,crop:4,colour:0.2,mixup:0.2,resized-crop:0.08" or "mosaic:0.5,iou-crop,flip" ("" = nothing). Throws
/// UsageError, naming the nearest known name or the range of a value.
AugmentOptions parse_augment(const std::string& text);
/// The same in its standard spelling; "" for nothing.
std::string augment_text(const AugmentOptions& options);

/// Augments one image (C, H, W) in place, by all options but mixup and mosaic. `boxes`: the boxes on it, by which
/// iou_crop chooses its crop.
void augment_image(const AugmentOptions& options, const ImageShape& shape, std::uint64_t seed, std::uint64_t epoch,
                   std::uint32_t sample, std::span<std::uint8_t> chw, std::span<const LabelledBox> boxes = {});

/// The part of augment_image that devices can do, too (see done_on_host).
ImageMove draw_move(const AugmentOptions& options, std::uint64_t seed, std::uint64_t epoch, std::uint32_t sample);
ColourChange draw_colours(const AugmentOptions& options, const ImageShape& shape, std::uint64_t seed,
                          std::uint64_t epoch, std::uint32_t sample);

/// Moves the boxes on an image as augment_image with the same arguments moves the objects. Boxes are clipped at the
/// image's edges; those without area are dropped, and after iou_crop also those whose centre is outside.
void augment_boxes(const AugmentOptions& options, const ImageShape& shape, std::uint64_t seed, std::uint64_t epoch,
                   std::uint32_t sample, std::vector<LabelledBox>& boxes);

/// Mixup: the partner with which a sample is mixed, and the weight of the sample itself, at least a half, so that its
/// own label remains the main one.
struct Mixture {
  std::uint32_t partner = 0;
  float weight = 1;
};
Mixture draw_mixture(double alpha, std::span<const std::uint32_t> partners, std::uint64_t seed, std::uint64_t epoch,
                     std::uint32_t sample);

/// chw = weight * chw + (1 - weight) * other, rounded.
void mix_images(float weight, std::span<const std::uint8_t> other, std::span<std::uint8_t> chw);

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
