// Cuts a face out of a photo for an embedding network.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "data/codecs/picture.h"
#include "data/image_shape.h"
#include "task/faces/face.h"

namespace evener::task {

/// The face with a margin: the box cut out, whole pixels, and resized to height x width as Pillow does, which is what
/// facenet-pytorch's networks were trained on. `margin`: pixels of the result, both sides together. Absent where the
/// box lies beside the photo.
std::optional<data::Picture> crop_face(const data::Picture& photo, const FaceBox& box, std::int64_t height,
                                       std::int64_t width, double margin);

/// The square that people are shown of a face: its side is a quarter longer than the longer side of `box`, and it is
/// moved or made smaller so that it lies on the photo.
FaceBox portrait_of(const data::Picture& photo, const FaceBox& box);

/// The similarity (rotation, scale, shift) that maps `from` to `to` with the least squared error:
///   x' = a x - b y + c,  y' = b x + a y + d
struct Similarity {
  double a = 1, b = 0, c = 0, d = 0;
};
Similarity similarity(const std::array<Point, 5>& from, const std::array<Point, 5>& to);

/// Writes the face as (3, H, W), turned and scaled bilinearly so that its landmarks lie at the standard places: the
/// five points of SphereFace in 96 x 112 pixels, scaled to other heights and centred at other widths (at 112 x 112
/// these are ArcFace's points). Pixels beside the photo are black.
void align_face(const data::Picture& photo, const std::array<Point, 5>& landmarks, const data::ImageShape& shape,
                std::span<std::uint8_t> chw);

}  // namespace evener::task
