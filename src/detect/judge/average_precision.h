// How well a detector finds: average precision by the rules of PASCAL VOC 2007 (11 points), of VOC 2010 and later (all
// points) and of COCO, to which images are added one by one, in any order and by any rank, in training too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/described.h"
#include "detect/judge/judge.h"
#include "network/network.h"
#include "parallel/replica.h"

namespace evener::detection {

/// Collects the verdicts on the images so far. Parts of several ranks can be joined, in any order.
class DetectionTally {
 public:
  DetectionTally() = default;
  explicit DetectionTally(std::size_t classes);

  /// `image`: its number in the data, which orders equally likely boxes of several images. Throws Error for labels
  /// that aren't classes.
  void add(std::int64_t image, std::span<const Detection> found, std::span<const TrueBox> truth);
  /// Throws Error for a part with other classes.
  void join(const DetectionTally& part);

  std::size_t classes() const { return true_boxes_.size() / kAreaRanges; }
  std::int64_t images() const { return images_; }
  /// The judged boxes of the class `label`, in the order in which they were added.
  std::vector<JudgedBox> boxes_of(std::int32_t label) const;
  /// The number of true boxes of the class that count as missed where they aren't found.
  std::int64_t true_boxes(std::int32_t label, AreaRange range = AreaRange::kAll) const;

  template <typename Visitor>
  friend void describe(Visitor& visitor, Of<DetectionTally> auto& tally) {
    visitor.value("images", tally.images_);
    visitor.value("boxes", tally.boxes_);
    visitor.value("true_boxes", tally.true_boxes_);
  }

 private:
  std::int64_t images_ = 0;
  std::vector<JudgedBox> boxes_;
  std::vector<std::int64_t> true_boxes_;  // (classes, kAreaRanges)
};

/// COCO's summary. A figure is absent where the data has no box that counts for it.
struct CocoSummary {
  std::optional<double> ap, ap_50, ap_75;  // average precision: of all limits, at 0.5, at 0.75
  std::optional<double> ap_small, ap_medium, ap_large;
  std::optional<double> ar_1, ar_10, ar_100;  // average recall with 1, 10 and 100 boxes of a class on an image
  std::optional<double> ar_small, ar_medium, ar_large;
};

/// The average precisions of one class; absent where the data has no box of it.
struct ClassPrecision {
  std::int64_t true_boxes = 0, found_boxes = 0;
  std::optional<double> voc_2007, voc_2010, coco, coco_50;
};

struct DetectionQuality {
  std::int64_t images = 0, true_boxes = 0, found_boxes = 0;
  std::optional<double> voc_2007, voc_2010;  // means over the classes that have boxes
  CocoSummary coco;
  std::vector<ClassPrecision> classes;
};

DetectionQuality quality_of(const DetectionTally& tally);

/// The precision-recall curve by VOC's rules: one point for each box that counts, the likeliest first.
struct PrecisionCurve {
  std::vector<double> recall, precision, score;
};

/// Empty where the data has no box of that class.
PrecisionCurve precision_curve(const DetectionTally& tally, std::int32_t label);

/// Judges a detector's outputs with the limits that evaluations have: boxes of a confidence of 0.001 on, 300 of them on
/// an image. `classes`: of the data.
std::unique_ptr<parallel::OutputJudge> make_detection_judge(const network::Network& network, std::size_t classes);

/// The verdicts of all replicas' judges put together.
DetectionQuality quality_of_verdicts(std::span<const std::string> verdicts);

}  // namespace evener::detection
