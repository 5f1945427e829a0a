// From a face on a photo to what an embedding network takes.
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
/// facenet-pytorch's networks were trained on. `margin`: pixels of the result, both sides together. None where nothing
/// of the box lies on the photo.
std::optional<data::Picture> crop_face(const data::Picture& photo, const FaceBox& box, std::int64_t height,
                                       std::int64_t width, double margin);

/// A square on the photo around a face with a quarter more than its longer side, moved or made smaller until it lies on
/// the photo: what people are shown.
FaceBox portrait_of(const data::Picture& photo, const FaceBox& box);

/// The similarity (turn, scale, shift) that brings `from` nearest to `to`, in least squares:
///   x' = a x - b y + c,  y' = b x + a y + d
struct Similarity {
  double a = 1, b = 0, c = 0, d = 0;
};
Similarity similarity(const std::array<Point, 5>& from, const std::array<Point, 5>& to);

/// Writes the face as (3, H, W) with its landmarks where they are in all aligned faces (the five points of SphereFace
/// in 96 x 112 pixels, scaled to other heights, and with as much on the left as on the right at other widths: at 112 x
/// 112 those of ArcFace); what lies beside the photo is black. Bilinear.
void align_face(const data::Picture& photo, const std::array<Point, 5>& landmarks, const data::ImageShape& shape,
                std::span<std::uint8_t> chw);

}  // namespace evener::task
