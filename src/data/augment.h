// Random changes of training images. What happens to a sample is keyed by (seed, epoch, sample) alone, never by who
// asks, so that every placement and every number of threads sees the same pixels.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/image_change.h"
#include "data/image_shape.h"
#include "data/targets.h"

namespace evener::data {

/// What may be done, in this order. Nothing by default.
struct AugmentOptions {
  double mosaic = 0;              // share of the images that become mosaics of four (data/mosaic.h); 0 = off
  bool iou_crop = false;          // crop as SSD does, by what it leaves of the boxes
  double least_area = 0;          // resized crop of at least this share of the area; 0 = off
  std::int64_t crop_padding = 0;  // shift by up to this many pixels, black comes in; 0 = off
  bool flip = false;              // mirror half of the images, left to right
  double colour = 0;              // brightness, contrast and saturation by up to this share; 0 = off
  double mixup = 0;               // alpha of the Beta distribution of the weights; 0 = off

  bool any() const {
    return mosaic > 0 || iou_crop || least_area > 0 || crop_padding > 0 || flip || colour > 0 || mixup > 0;
  }
  bool has_moves() const { return crop_padding > 0 || flip; }
  bool operator==(const AugmentOptions&) const = default;
};

/// The changes among these that take the pixels in host memory, as "resized-crop, mosaic"; "" where ImageMove,
/// ColourChange and mixing say all that is done.
std::string done_on_host(const AugmentOptions& options);

/// Reads "flip,crop:4,colour:0.2,mixup:0.2,resized-crop:0.08" or "mosaic:0.5,iou-crop,flip" ("" = nothing). Throws
/// UsageError, naming the nearest known name or the range of a value.
AugmentOptions parse_augment(const std::string& text);
/// The same in its standard spelling; "" for nothing.
std::string augment_text(const AugmentOptions& options);

/// Changes one image (C, H, W) in place; all but mixup and mosaics. `boxes`: those on it, which iou_crop goes by.
void augment_image(const AugmentOptions& options, const ImageShape& shape, std::uint64_t seed, std::uint64_t epoch,
                   std::uint32_t sample, std::span<std::uint8_t> chw, std::span<const LabelledBox> boxes = {});

/// What augment_image does to an image by options that need no host (done_on_host).
ImageMove draw_move(const AugmentOptions& options, std::uint64_t seed, std::uint64_t epoch, std::uint32_t sample);
ColourChange draw_colours(const AugmentOptions& options, const ImageShape& shape, std::uint64_t seed,
                          std::uint64_t epoch, std::uint32_t sample);

/// Moves the boxes on an image as augment_image, given the same numbers, moves what they are around. Boxes are clipped
/// at the image's edges, and those that have no area left are dropped; by iou_crop also those whose middle is outside.
void augment_boxes(const AugmentOptions& options, const ImageShape& shape, std::uint64_t seed, std::uint64_t epoch,
                   std::uint32_t sample, std::vector<LabelledBox>& boxes);

/// With which sample of `partners` a sample is mixed, and the weight of the sample itself: at least a half, so that its
/// own label remains the main one.
struct Mixture {
  std::uint32_t partner = 0;
  float weight = 1;
};
Mixture draw_mixture(double alpha, std::span<const std::uint32_t> partners, std::uint64_t seed, std::uint64_t epoch,
                     std::uint32_t sample);

/// chw = weight * chw + (1 - weight) * other, rounded.
void mix_images(float weight, std::span<const std::uint8_t> other, std::span<std::uint8_t> chw);

}  // namespace evener::data
