#include "task/faces/boxes.h"

#include <algorithm>
#include <numeric>

#include "task/inference/nms.h"

namespace evener::task {
namespace {

/// What is common to two boxes as a share.
float common(const FaceBox& a, const FaceBox& b, Overlap overlap) {
  if (overlap == Overlap::kUnion) return intersection_over_union(a, b);
  return intersection(a, b, 1) / std::min(area_of(a, 1), area_of(b, 1));
}

}  // namespace

std::vector<std::size_t> nms(const std::vector<FaceBox>& boxes, float limit, Overlap overlap) {
  std::vector<std::size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Boxes that reach beyond a photo can show a network the very same pixels, and are then equally likely. Which of them
  // stays is decided as facenet-pytorch does: torchvision's suppression takes the first, its own by smaller areas the
  // last.
  if (overlap == Overlap::kSmaller) std::ranges::reverse(order);
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return boxes[a].probability > boxes[b].probability; });
  return nms(order,
             [&](std::size_t kept, std::size_t next) { return common(boxes[kept], boxes[next], overlap) > limit; });
}

FaceBox shifted(const FaceBox& box, const std::array<float, 4>& shifts, bool one_more) {
  const float extra = one_more ? 1 : 0;
  const float width = box.x2 - box.x1 + extra, height = box.y2 - box.y1 + extra;
  return {box.x1 + shifts[0] * width, box.y1 + shifts[1] * height, box.x2 + shifts[2] * width,
          box.y2 + shifts[3] * height, box.probability};
}

FaceBox squared(const FaceBox& box) {
  const float width = box.x2 - box.x1, height = box.y2 - box.y1;
  const float side = std::max(width, height);
  const float x = box.x1 + width * 0.5F - side * 0.5F, y = box.y1 + height * 0.5F - side * 0.5F;
  return {x, y, x + side, y + side, box.probability};
}

data::PictureArea pixels_of(const FaceBox& box, std::int64_t width, std::int64_t height) {
  const auto first = [](float coordinate) {
    return std::max<std::int64_t>(static_cast<std::int64_t>(coordinate), 1) - 1;
  };
  const auto end = [](float coordinate, std::int64_t extent) {
    return std::min<std::int64_t>(static_cast<std::int64_t>(coordinate), extent);
  };
  const std::int64_t x = first(box.x1), y = first(box.y1);
  return {x, y, std::max<std::int64_t>(0, end(box.x2, width) - x), std::max<std::int64_t>(0, end(box.y2, height) - y)};
}

}  // namespace evener::task
