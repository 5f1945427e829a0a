// What MTCNN does to boxes between its networks, in float32 as facenet-pytorch 2.6 computes it
// (models/utils/detect_face).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/area_resize.h"
#include "task/faces/face.h"

namespace evener::task {

/// A box with the shifts of its sides that a network proposes, as shares of its extents.
struct Candidate {
  FaceBox box;
  std::array<float, 4> shifts = {};
};

/// How much two boxes have in common.
enum class Overlap {
  kUnion,    // the intersection as a share of the union; sides are as long as their coordinates differ
  kSmaller,  // of the smaller one; sides are one pixel longer
};

/// NMS: of boxes that overlap by more than `limit` only the likeliest stays; of equally likely ones the first (kUnion)
/// or the last (kSmaller). Indices of those that stay, the likeliest first.
std::vector<std::size_t> nms(const std::vector<FaceBox>& boxes, float limit, Overlap overlap);

/// The box with its sides shifted; `one_more`: extents count one pixel more than coordinates differ.
FaceBox shifted(const FaceBox& box, const std::array<float, 4>& shifts, bool one_more);
/// The square around the same middle with the box's longer side.
FaceBox squared(const FaceBox& box);
/// The pixels of a photo that a box covers: coordinates cut to whole numbers, from 1, and clamped to the photo. Nothing
/// may be left of it: then the area is empty.
data::PictureArea pixels_of(const FaceBox& box, std::int64_t width, std::int64_t height);

}  // namespace evener::task
