// The box arithmetic between MTCNN's networks, in float32 as facenet-pytorch 2.6 computes it
// (models/utils/detect_face).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/area_resize.h"
#include "task/faces/face.h"

namespace evener::task {

/// A box with the regression that a network proposes for its sides, as shares of its width and height.
struct Candidate {
  FaceBox box;
  std::array<float, 4> shifts = {};
};

/// How the overlap of two boxes is measured.
enum class Overlap {
  kUnion,    // the intersection as a share of the union; sides are as long as their coordinates differ
  kSmaller,  // the intersection as a share of the smaller box; sides are one pixel longer
};

/// NMS: of boxes that overlap by more than `limit` only the likeliest stays; of equally likely ones the first (kUnion)
/// or the last (kSmaller). Indices of those that stay, the likeliest first.
std::vector<std::size_t> nms(const std::vector<FaceBox>& boxes, float limit, Overlap overlap);

/// The box with its sides shifted; `one_more`: extents count one pixel more than coordinates differ.
FaceBox shifted(const FaceBox& box, const std::array<float, 4>& shifts, bool one_more);
/// The square around the same middle with the box's longer side.
FaceBox squared(const FaceBox& box);
/// The pixels of a photo that a box covers: coordinates truncated to whole numbers, counted from 1, and clamped to the
/// photo. The area is empty where the box lies beside the photo.
data::PictureArea pixels_of(const FaceBox& box, std::int64_t width, std::int64_t height);

}  // namespace evener::task
