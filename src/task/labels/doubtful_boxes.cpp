#include "task/labels/doubtful_boxes.h"

#include <algorithm>
#include <tuple>

namespace evener::task {
namespace {

double overlap_of(const Detection& a, const TrueBox& b) {
  const double width = std::min(double{a.x2}, b.x2) - std::max(double{a.x1}, b.x1);
  const double height = std::min(double{a.y2}, b.y2) - std::max(double{a.y1}, b.y1);
  if (width <= 0 || height <= 0) return 0;
  const double of_a = (double{a.x2} - double{a.x1}) * (double{a.y2} - double{a.y1});
  const double of_b = (b.x2 - b.x1) * (b.y2 - b.y1);
  return width * height / (of_a + of_b - width * height);
}

/// The share of a found box that lies in a label's.
double share_within(const Detection& a, const TrueBox& b) {
  const double width = std::min(double{a.x2}, b.x2) - std::max(double{a.x1}, b.x1);
  const double height = std::min(double{a.y2}, b.y2) - std::max(double{a.y1}, b.y1);
  const double of_a = (double{a.x2} - double{a.x1}) * (double{a.y2} - double{a.y1});
  return width <= 0 || height <= 0 || of_a <= 0 ? 0 : width * height / of_a;
}

Corners corners_of(const Detection& box) {
  return {double{box.x1}, double{box.y1}, double{box.x2}, double{box.y2}};
}

Corners corners_of(const TrueBox& box) {
  return {box.x1, box.y1, box.x2, box.y2};
}

bool is_judged(const TrueBox& box) {
  return !box.is_crowd && !box.is_difficult;
}

AreaRange size_of(const TrueBox& box) {
  for (const AreaRange range : {AreaRange::kSmall, AreaRange::kMedium}) {
    if (is_counted(box, range)) return range;
  }
  return AreaRange::kLarge;
}

}  // namespace

/// One image's boxes and labels.
class BoxDoubts::Image {
 public:
  Image(const BoxDoubtLimits& limits, std::size_t index, std::span<const Detection> found,
        std::span<const TrueBox> truth)
      : limits_(limits), index_(index), found_(found), truth_(truth), near_(truth.size()), same_(truth.size()) {
    for (std::size_t t = 0; t < truth.size(); ++t) {
      for (const Detection& box : found) {
        const double overlap = overlap_of(box, truth[t]), score = double{box.score};
        if (overlap < limits.near) continue;
        near_[t] = std::max(near_[t], score);
        if (box.label == truth[t].label) same_[t] = std::max(same_[t], score);
        if (box.label == truth[t].label && overlap >= limits.fits && score >= limits.sure) well_found_.push_back(t);
      }
    }
  }

  /// The greatest score of a box near a label; of any class, and of its own.
  double near(std::size_t t) const { return near_[t]; }
  double same(std::size_t t) const { return same_[t]; }

  /// What is in doubt because of a box that is found surely.
  std::vector<DoubtfulBox> by_sure_boxes() const {
    std::vector<DoubtfulBox> doubts;
    for (const Detection& box : found_) {
      if (double{box.score} < limits_.sure || is_excused(box)) continue;
      if (auto doubt = doubt_of(box)) add(std::move(*doubt), doubts);
    }
    return doubts;
  }

  DoubtfulBox extra(std::size_t t) const {
    return {.image = index_,
            .kind = BoxDoubt::kExtra,
            .label = truth_[t].label,
            .label_probability = same_[t],
            .score = 1 - near_[t],
            .labelled = corners_of(truth_[t])};
  }

 private:
  bool is_excused(const Detection& box) const {
    return std::ranges::any_of(truth_, [&](const TrueBox& label) {
      return !is_judged(label) && (overlap_of(box, label) >= limits_.near || share_within(box, label) >= 0.5);
    });
  }

  /// The label that a box overlaps most, of its class or of others; truth_.size(): none.
  std::size_t nearest(const Detection& box, bool of_its_class) const {
    std::size_t best = truth_.size();
    for (std::size_t t = 0; t < truth_.size(); ++t) {
      if ((truth_[t].label == box.label) != of_its_class) continue;
      if (best == truth_.size() || overlap_of(box, truth_[t]) > overlap_of(box, truth_[best])) best = t;
    }
    return best;
  }

  double overlap(const Detection& box, std::size_t t) const {
    return t == truth_.size() ? 0 : overlap_of(box, truth_[t]);
  }

  bool is_well_found(std::size_t t) const { return std::ranges::find(well_found_, t) != well_found_.end(); }

  std::optional<DoubtfulBox> doubt_of(const Detection& box) const {
    const std::size_t same = nearest(box, true), other = nearest(box, false);
    const double with_same = overlap(box, same), with_other = overlap(box, other), score = double{box.score};
    if (with_same >= limits_.fits) return std::nullopt;
    if (with_same >= limits_.near) {
      // Another box that fits means that this one is a second box for the same object.
      if (is_well_found(same) || with_other >= limits_.fits) return std::nullopt;
      return against(box, BoxDoubt::kFit, same, score * (1 - with_same));
    }
    if (with_other >= limits_.fits) {
      if (same_[other] >= limits_.sure) return std::nullopt;
      return against(box, BoxDoubt::kClass, other, score * (1 - same_[other]));
    }
    // An object may overlap another, such as a rider his horse, if that one is found, too.
    if (with_other >= limits_.near && !is_well_found(other)) return std::nullopt;
    return DoubtfulBox{.image = index_,
                       .kind = BoxDoubt::kMissed,
                       .suggested = box.label,
                       .probability = score,
                       .score = score,
                       .found = corners_of(box)};
  }

  DoubtfulBox against(const Detection& box, BoxDoubt kind, std::size_t t, double score) const {
    return {.image = index_,
            .kind = kind,
            .label = truth_[t].label,
            .suggested = box.label,
            .probability = double{box.score},
            .label_probability = same_[t],
            .score = score,
            .found = corners_of(box),
            .labelled = corners_of(truth_[t])};
  }

  /// Boxes come likeliest first: a later one on the same place, or against the same label, says nothing new.
  void add(DoubtfulBox doubt, std::vector<DoubtfulBox>& doubts) const {
    const auto is_known = [&](const DoubtfulBox& known) {
      if (known.labelled && known.labelled == doubt.labelled) return true;
      const Corners& a = *known.found;
      const Detection before{static_cast<float>(a[0]), static_cast<float>(a[1]), static_cast<float>(a[2]),
                             static_cast<float>(a[3])};
      TrueBox now;
      now.x1 = (*doubt.found)[0], now.y1 = (*doubt.found)[1], now.x2 = (*doubt.found)[2], now.y2 = (*doubt.found)[3];
      return overlap_of(before, now) >= limits_.fits;
    };
    if (std::ranges::none_of(doubts, is_known)) doubts.push_back(std::move(doubt));
  }

  const BoxDoubtLimits& limits_;
  const std::size_t index_;
  const std::span<const Detection> found_;
  const std::span<const TrueBox> truth_;
  std::vector<double> near_, same_;
  std::vector<std::size_t> well_found_;
};

void BoxDoubts::add(std::size_t image, std::span<const Detection> found, std::span<const TrueBox> truth) {
  const Image one(limits_, image, found, truth);
  for (DoubtfulBox& doubt : one.by_sure_boxes()) {
    doubts_.push_back(std::move(doubt));
    kinds_.emplace_back();
  }
  for (std::size_t t = 0; t < truth.size(); ++t) {
    if (!is_judged(truth[t])) continue;
    ++labels_;
    const Kind kind{truth[t].label, size_of(truth[t])};
    Recall& recall = recalls_[kind];
    ++recall.labels;
    recall.found += one.same(t) >= limits_.sure ? 1 : 0;
    if (one.near(t) >= limits_.trace) continue;
    doubts_.push_back(one.extra(t));
    kinds_.emplace_back(kind);
  }
}

std::vector<DoubtfulBox> BoxDoubts::worst_first() const {
  std::vector<DoubtfulBox> sorted = doubts_;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (!kinds_[i]) continue;
    // One found and one missed label more: a single label, which is missed itself, says little of its kind.
    const Recall& recall = recalls_.at(*kinds_[i]);
    sorted[i].score *= static_cast<double>(recall.found + 1) / static_cast<double>(recall.labels + 2);
  }
  std::ranges::stable_sort(sorted, {}, [](const DoubtfulBox& one) { return std::tuple(-one.score, one.image); });
  return sorted;
}

}  // namespace evener::task
