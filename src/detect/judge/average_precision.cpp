#include "detect/judge/average_precision.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/message.h"
#include "data/targets.h"
#include "detect/decoders/boxes.h"

namespace evener::detection {
namespace {

constexpr std::size_t kRecallPoints = 101;

/// numpy.linspace(0, 1, 101).
double recall_point(std::size_t index) {
  return index + 1 == kRecallPoints ? 1.0 : static_cast<double>(index) * 0.01;
}

/// MATLAB's 0:0.1:1, which counts from both ends.
double voc_recall_point(int index) {
  return index <= 5 ? index * 0.1 : 1 - (10 - index) * 0.1;
}

/// A mean that skips absent values.
class Mean {
 public:
  void add(const std::optional<double>& value) {
    sum_ += value.value_or(0);
    count_ += value ? 1 : 0;
  }
  operator std::optional<double>() const { return count_ == 0 ? std::nullopt : std::optional(sum_ / count_); }

 private:
  double sum_ = 0;
  int count_ = 0;
};

/// Each precision becomes the maximum of itself and all that follow (the envelope of the curve).
void make_monotonous(std::vector<double>& precision) {
  for (std::size_t i = precision.size(); i-- > 1;) precision[i - 1] = std::max(precision[i - 1], precision[i]);
}

double voc_2007(const PrecisionCurve& curve) {
  double sum = 0;
  for (int point = 0; point <= 10; ++point) {
    double greatest = 0;
    for (std::size_t i = 0; i < curve.recall.size(); ++i) {
      if (curve.recall[i] >= voc_recall_point(point)) greatest = std::max(greatest, curve.precision[i]);
    }
    sum += greatest / 11;
  }
  return sum;
}

/// The area under the curve.
double voc_2010(const PrecisionCurve& curve) {
  std::vector<double> precision = curve.precision;
  make_monotonous(precision);
  double area = 0, last_recall = 0;
  for (std::size_t i = 0; i < precision.size(); ++i) {
    area += (curve.recall[i] - last_recall) * precision[i];
    last_recall = curve.recall[i];
  }
  return area;
}

/// At one limit of overlap.
struct CocoPoint {
  double precision = 0, recall = 0;  // precision: the mean over the points of recall
};

/// `boxes`: of one class, the likeliest first. `most`: of them on an image. `true_boxes`: at least one.
CocoPoint coco_point(std::span<const JudgedBox> boxes, std::size_t bit, std::int32_t most, std::int64_t true_boxes) {
  std::vector<double> precision, recall;
  double right = 0, wrong = 0;
  for (const JudgedBox& box : boxes) {
    if (box.rank >= most) continue;
    if (!box.is_ignored(bit)) (box.is_matched(bit) ? right : wrong) += 1;
    recall.push_back(right / static_cast<double>(true_boxes));
    precision.push_back(right / (wrong + right + std::numeric_limits<double>::epsilon()));
  }
  make_monotonous(precision);
  CocoPoint point{.precision = 0, .recall = recall.empty() ? 0 : recall.back()};
  for (std::size_t i = 0; i < kRecallPoints; ++i) {
    const auto at = std::ranges::lower_bound(recall, recall_point(i)) - recall.begin();
    if (at < static_cast<std::ptrdiff_t>(recall.size())) point.precision += precision[static_cast<std::size_t>(at)];
  }
  point.precision /= kRecallPoints;
  return point;
}

/// The lines of COCO's summary, to which classes are added.
class CocoMeans {
 public:
  void add(const DetectionTally& tally, std::int32_t label, std::span<const JudgedBox> boxes,
           ClassPrecision& of_class) {
    constexpr std::size_t kLimit75 = 5;
    Mean of_limits;
    for (std::size_t r = 0; r < kAreaRanges; ++r) {
      const auto range = static_cast<AreaRange>(r);
      const std::int64_t true_boxes = tally.true_boxes(label, range);
      for (std::size_t limit = 0; true_boxes > 0 && limit < kIouLimits; ++limit) {
        const std::size_t bit = coco_bit(range, limit);
        const CocoPoint point = coco_point(boxes, bit, kMostJudged, true_boxes);
        ap_[r].add(point.precision);
        ar_[r].add(point.recall);
        if (range != AreaRange::kAll) continue;
        of_limits.add(point.precision);
        if (limit == 0) of_class.coco_50 = point.precision;
        if (limit == kLimit75) ap_75_.add(point.precision);
        ar_10_.add(coco_point(boxes, bit, 10, true_boxes).recall);
        ar_1_.add(coco_point(boxes, bit, 1, true_boxes).recall);
      }
    }
    of_class.coco = of_limits;
    ap_50_.add(of_class.coco_50);
    ap_all_.add(of_class.coco);
  }

  CocoSummary summary() const {
    return {ap_all_, ap_50_, ap_75_, ap_[1], ap_[2], ap_[3], ar_1_, ar_10_, ar_[0], ar_[1], ar_[2], ar_[3]};
  }

 private:
  std::array<Mean, kAreaRanges> ap_, ar_;  // of the ranges of areas
  Mean ap_all_, ap_50_, ap_75_, ar_1_, ar_10_;
};

std::vector<JudgedBox> likeliest_first(const DetectionTally& tally, std::int32_t label) {
  std::vector<JudgedBox> boxes = tally.boxes_of(label);
  std::ranges::sort(boxes, [](const JudgedBox& a, const JudgedBox& b) {
    return std::tuple(-a.score, a.image, a.rank) < std::tuple(-b.score, b.image, b.rank);
  });
  return boxes;
}

/// `boxes`: the likeliest first.
PrecisionCurve curve_of(std::span<const JudgedBox> boxes, std::int64_t true_boxes) {
  PrecisionCurve curve;
  if (true_boxes == 0) return curve;
  double right = 0, wrong = 0;
  for (const JudgedBox& box : boxes) {
    if (box.voc == VocVerdict::kIgnored) continue;
    (box.voc == VocVerdict::kTrue ? right : wrong) += 1;
    curve.recall.push_back(right / static_cast<double>(true_boxes));
    curve.precision.push_back(right / (right + wrong));
    curve.score.push_back(box.score);
  }
  return curve;
}

class DetectionJudge : public parallel::OutputJudge {
 public:
  DetectionJudge(const network::Network& network, std::size_t classes)
      : boxes_(network, {.confidence = 0.001F}), classes_(classes), tally_(classes) {}

  void begin() override { tally_ = DetectionTally(classes_); }

  void add(const data::Batch& batch, const std::vector<HostTensor>& outputs) override {
    const auto boxes = data::box_lists(batch.targets);
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      const std::vector<TrueBox> truth(boxes[i].begin(), boxes[i].end());
      tally_.add(batch.samples[i], boxes_.found(outputs, i), truth);
    }
  }

  std::string verdict() const override { return pack_message(tally_); }

 private:
  const OutputBoxes boxes_;
  const std::size_t classes_;
  DetectionTally tally_;
};

}  // namespace

DetectionTally::DetectionTally(std::size_t classes) : true_boxes_(classes * kAreaRanges) {}

void DetectionTally::add(std::int64_t image, std::span<const Detection> found, std::span<const TrueBox> truth) {
  const auto require_class = [&](std::int32_t label) {
    if (label >= 0 && static_cast<std::size_t>(label) < classes()) return;
    throw Error("image " + std::to_string(image) + " has a box with label " + std::to_string(label) + ", of " +
                std::to_string(classes()) + " classes");
  };
  for (const Detection& box : found) require_class(box.label);
  for (const TrueBox& box : truth) require_class(box.label);
  const std::vector<JudgedBox> judged = judge(image, found, truth);
  boxes_.insert(boxes_.end(), judged.begin(), judged.end());
  for (const TrueBox& box : truth) {
    for (std::size_t range = 0; range < kAreaRanges; ++range) {
      const std::size_t place = static_cast<std::size_t>(box.label) * kAreaRanges + range;
      true_boxes_[place] += is_counted(box, static_cast<AreaRange>(range)) ? 1 : 0;
    }
  }
  ++images_;
}

void DetectionTally::join(const DetectionTally& part) {
  if (part.true_boxes_.size() != true_boxes_.size()) {
    throw Error("detections of " + std::to_string(part.classes()) + " classes can't be joined with those of " +
                std::to_string(classes()));
  }
  images_ += part.images_;
  boxes_.insert(boxes_.end(), part.boxes_.begin(), part.boxes_.end());
  for (std::size_t i = 0; i < true_boxes_.size(); ++i) true_boxes_[i] += part.true_boxes_[i];
}

std::vector<JudgedBox> DetectionTally::boxes_of(std::int32_t label) const {
  std::vector<JudgedBox> boxes;
  std::ranges::copy_if(boxes_, std::back_inserter(boxes), [&](const JudgedBox& box) { return box.label == label; });
  return boxes;
}

std::int64_t DetectionTally::true_boxes(std::int32_t label, AreaRange range) const {
  return true_boxes_[static_cast<std::size_t>(label) * kAreaRanges + static_cast<std::size_t>(range)];
}

DetectionQuality quality_of(const DetectionTally& tally) {
  DetectionQuality quality;
  quality.images = tally.images();
  quality.classes.resize(tally.classes());
  Mean mean_2007, mean_2010;
  CocoMeans coco;
  for (std::size_t c = 0; c < tally.classes(); ++c) {
    const auto label = static_cast<std::int32_t>(c);
    const std::vector<JudgedBox> boxes = likeliest_first(tally, label);
    ClassPrecision& of_class = quality.classes[c];
    of_class.true_boxes = tally.true_boxes(label);
    of_class.found_boxes = static_cast<std::int64_t>(boxes.size());
    if (of_class.true_boxes > 0) {
      const PrecisionCurve curve = curve_of(boxes, of_class.true_boxes);
      of_class.voc_2007 = voc_2007(curve);
      of_class.voc_2010 = voc_2010(curve);
    }
    coco.add(tally, label, boxes, of_class);
    mean_2007.add(of_class.voc_2007);
    mean_2010.add(of_class.voc_2010);
    quality.true_boxes += of_class.true_boxes;
    quality.found_boxes += of_class.found_boxes;
  }
  quality.voc_2007 = mean_2007;
  quality.voc_2010 = mean_2010;
  quality.coco = coco.summary();
  return quality;
}

PrecisionCurve precision_curve(const DetectionTally& tally, std::int32_t label) {
  return curve_of(likeliest_first(tally, label), tally.true_boxes(label));
}

std::unique_ptr<parallel::OutputJudge> make_detection_judge(const network::Network& network, std::size_t classes) {
  return std::make_unique<DetectionJudge>(network, classes);
}

DetectionQuality quality_of_verdicts(std::span<const std::string> verdicts) {
  std::optional<DetectionTally> all;
  for (std::size_t rank = 0; rank < verdicts.size(); ++rank) {
    auto part =
        unpack_message<DetectionTally>(verdicts[rank], "the boxes that rank " + std::to_string(rank) + " found");
    if (all) {
      all->join(part);
    } else {
      all = std::move(part);
    }
  }
  return quality_of(all.value_or(DetectionTally()));
}

}  // namespace evener::detection
