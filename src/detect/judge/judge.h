// Decides which of the boxes found on an image are right, as PASCAL VOC's devkit (VOCevaldet.m) and COCO's pycocotools
// (COCOeval.evaluateImg) do; and counts which class was found for which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/described.h"
#include "data/targets.h"
#include "detect/decoders/boxes.h"

namespace evener::detection {

/// An object that is on an image: the ground truth.
struct TrueBox {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;  // corners in the image's own pixels, as those of a Detection
  std::int32_t label = 0;
  bool is_difficult = false;   // it isn't missed, and a box on it isn't wrong (VOC); for COCO's rules it is an `ignore`
  bool is_crowd = false;       // several objects in one box: any number of detections lie in it, none is wrong (COCO)
  std::optional<double> area;  // of the object, in pixels; absent = of the box

  TrueBox() = default;
  explicit TrueBox(const data::LabelledBox& box);
  explicit TrueBox(const Detection& box);
};

/// COCO's ranges of areas, in pixels; both ends belong to a range.
enum class AreaRange : std::uint8_t { kAll, kSmall, kMedium, kLarge };
constexpr std::size_t kAreaRanges = 4;

/// COCO's limits of intersection over union: 0.50, 0.55, ... 0.95.
constexpr std::size_t kIouLimits = 10;
double iou_limit(std::size_t index);

enum class VocVerdict : std::uint8_t { kTrue, kFalse, kIgnored };

/// The verdict on one box that was found.
struct JudgedBox {
  std::int64_t image = 0;
  std::int32_t label = 0;
  std::int32_t rank = 0;  // among the boxes of its class on its image, from 0, the likeliest first
  double score = 0;
  std::uint64_t matched = 0, ignored = 0;  // by COCO's rules: coco_bit() is the bit for a range of areas and an IoU
                                           // limit
  VocVerdict voc = VocVerdict::kFalse;     // by VOC's rules: true where the intersection over union is above 0.5

  bool is_matched(std::size_t bit) const { return (matched >> bit & 1) != 0; }
  bool is_ignored(std::size_t bit) const { return (ignored >> bit & 1) != 0; }
};

template <typename Visitor>
void describe(Visitor& visitor, Of<JudgedBox> auto& box) {
  visitor.value("image", box.image);
  visitor.value("label", box.label);
  visitor.value("rank", box.rank);
  visitor.value("score", box.score);
  visitor.value("matched", box.matched);
  visitor.value("ignored", box.ignored);
  visitor.value("voc", box.voc);
}

constexpr std::size_t coco_bit(AreaRange range, std::size_t limit) {
  return static_cast<std::size_t>(range) * kIouLimits + limit;
}

/// The number of boxes that COCO's rules look at of each class on an image: the likeliest.
constexpr std::int32_t kMostJudged = 100;

/// Whether a box counts for COCO in that range of areas: it is neither difficult nor a crowd, and has such an area.
bool is_counted(const TrueBox& box, AreaRange range);

/// Judges the boxes found on one image. Returns them class by class, the likeliest first, equally likely ones in the
/// given order; beyond the first kMostJudged of a class they have no COCO bits.
std::vector<JudgedBox> judge(std::int64_t image, std::span<const Detection> found, std::span<const TrueBox> truth);

/// The boxes of one image as BoxConfusion has matched them, by their indices.
struct MatchedBoxes {
  std::vector<std::size_t> missed;  // known boxes at which no box was found
  std::vector<std::size_t> wrong;   // found boxes where nothing is, or an object of another class
  std::vector<std::size_t> right;   // found boxes with an object of their class
};

/// Counts of (true class, found class). The last row counts boxes that were found where nothing is, the last column
/// objects that were missed. Only boxes with a score of at least `confidence` take part. Pairs with the greatest
/// intersection over union, of at least 0.5, are matched first, each box once. Difficult objects and crowds don't count
/// as missed, nor boxes found on them as wrong.
class BoxConfusion {
 public:
  BoxConfusion(std::size_t classes, float confidence);

  MatchedBoxes add(std::span<const Detection> found, std::span<const TrueBox> truth);

  const std::vector<std::vector<std::int64_t>>& counts() const { return counts_; }

 private:
  const float confidence_;
  std::vector<std::vector<std::int64_t>> counts_;
};

}  // namespace evener::detection
