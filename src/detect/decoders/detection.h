// An object that was found, arithmetic of boxes with non-maximum suppression, and what is common to all ways of reading
// boxes from the outputs of networks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace evener::detection {

// Arithmetic of boxes, for faces and all other objects. A box is any type with the corners x1, y1, x2 and y2.

/// The area that two boxes share. `extra`: added to the difference of coordinates to get a side; 1 where both corners
/// are pixels of the box.
template <class A, class B>
auto intersection(const A& a, const B& b, decltype(a.x1) extra = 0) {
  using Number = decltype(a.x1 + b.x1);
  const Number width = std::min<Number>(a.x2, b.x2) - std::max<Number>(a.x1, b.x1) + extra;
  const Number height = std::min<Number>(a.y2, b.y2) - std::max<Number>(a.y1, b.y1) + extra;
  return std::max<Number>(0, width) * std::max<Number>(0, height);
}

template <class Box>
auto area_of(const Box& box, decltype(box.x1) extra = 0) {
  return (box.x2 - box.x1 + extra) * (box.y2 - box.y1 + extra);
}

/// The shared area as a share of the united one; not a number for two boxes without area.
template <class A, class B>
auto intersection_over_union(const A& a, const B& b) {
  const auto both = intersection(a, b);
  return both / (area_of(a) + area_of(b) - both);
}

/// Greedy non-maximum suppression (NMS): goes through `order`, indices of boxes, the best first, and keeps a box unless
/// hides(kept, next) is true for a box that was kept before. Returns the indices that were kept, in that order.
template <class Hides>
std::vector<std::size_t> nms(std::span<const std::size_t> order, const Hides& hides) {
  std::vector<std::size_t> kept;
  for (const std::size_t next : order) {
    if (std::ranges::none_of(kept, [&](std::size_t other) { return hides(other, next); })) kept.push_back(next);
  }
  return kept;
}

/// An object that was found: corners in pixels, from the upper left corner of the image, which reaches to x = width.
struct Detection {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  std::int32_t label = 0;  // the class's index in the data; the background has none
  float score = 0;         // its probability

  bool operator==(const Detection&) const = default;
};

struct DecodeOptions {
  float confidence = 0.25F;               // boxes must have a higher score
  float iou = 0.55F;                      // NMS: of boxes of one class with a larger intersection over union only the
                                          // likeliest stays
  std::size_t candidates = 300;           // the likeliest boxes of each class, which NMS looks at
  std::size_t most = 300;                 // the likeliest boxes of an image, which are returned
  std::vector<std::int32_t> labels = {};  // the only classes that are looked for; empty = all
};

/// Clips the box to an image of that size.
void clip(Detection& box, float width, float height);
/// False for what is no number, too.
bool has_area(const Detection& box);
/// Whether the options ask for boxes of this class.
bool is_wanted(std::int32_t label, const DecodeOptions& options);

/// Which of the boxes stay, the likeliest first; equally likely ones in the order given. NMS compares boxes of one
/// class, of which it looks at the likeliest.
std::vector<Detection> suppressed(std::vector<Detection> boxes, const DecodeOptions& options);
/// The likeliest boxes, the likeliest first, without NMS.
std::vector<Detection> likeliest(std::vector<Detection> boxes, const DecodeOptions& options);

/// Sigmoid.
float probability_of(float logit);
/// The logit of a probability; infinite for 0 and 1.
float logit_of(float probability);

/// What the outputs hold of one image, by their names (Prediction::outputs).
using ImageOutputs = std::map<std::string, std::span<const float>>;

/// Reads boxes from the outputs of a detector's network, as its family of networks has them.
struct BoxDecoder {
  /// The boxes of one image, the likeliest first, in pixels of the network's image, beyond which they may reach.
  /// `pixel`: the side of a pixel of the photo there. Thread-safe. Throws Error where the outputs have other sizes than
  /// the decoder was made for.
  std::function<std::vector<Detection>(const ImageOutputs& outputs, const DecodeOptions& options, float pixel)> found;
  float usual_iou = 1;  // NMS as the family does it, and the likeliest boxes of each class that it looks at
  std::size_t usual_candidates = 30000;
};

/// The values of an output. Throws Error where the network gave none of that name.
std::span<const float> output_of(const ImageOutputs& outputs, const std::string& name);

}  // namespace evener::detection
