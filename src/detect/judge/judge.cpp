#include "detect/judge/judge.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "detect/decoders/detection.h"

namespace evener::detection {
namespace {

constexpr double kLeastOverlap = 0.5;

bool is_in(double area, AreaRange range) {
  constexpr double kSmall = 32.0 * 32, kMedium = 96.0 * 96, kMost = 1e10;
  constexpr std::pair<double, double> kLimits[] = {{0, kMost}, {0, kSmall}, {kSmall, kMedium}, {kMedium, kMost}};
  const auto [least, most] = kLimits[static_cast<std::size_t>(range)];
  return area >= least && area <= most;
}

/// Of a crowd, how much of the detection lies in it.
double overlap(const Detection& found, const TrueBox& truth) {
  const TrueBox box(found);
  const double both = intersection(box, truth);
  if (both <= 0) return 0;
  return both / (truth.is_crowd ? area_of(box) : area_of(box) + area_of(truth) - both);
}

/// The boxes of one class on one image.
class ClassOnImage {
 public:
  ClassOnImage(std::vector<const Detection*> found, std::vector<const TrueBox*> truth)
      : found_(std::move(found)), truth_(std::move(truth)), overlaps_(found_.size() * truth_.size()) {
    for (std::size_t i = 0; i < overlaps_.size(); ++i) {
      overlaps_[i] = overlap(*found_[i / truth_.size()], *truth_[i % truth_.size()]);
    }
  }

  void judge(std::span<JudgedBox> boxes) const {
    judge_voc(boxes);
    const std::span<JudgedBox> first = boxes.first(std::min<std::size_t>(boxes.size(), kMostJudged));
    for (std::size_t r = 0; r < kAreaRanges; ++r) judge_coco(static_cast<AreaRange>(r), first);
  }

 private:
  double overlap_of(std::size_t found, std::size_t truth) const { return overlaps_[found * truth_.size() + truth]; }

  /// A box belongs to the object that it overlaps most; the first to find an object is right, later ones are wrong.
  void judge_voc(std::span<JudgedBox> boxes) const {
    std::vector<bool> is_found(truth_.size());
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      double most = 0;
      std::size_t best = truth_.size();
      bool is_in_crowd = false;
      for (std::size_t t = 0; t < truth_.size(); ++t) {
        const double overlap = overlap_of(i, t);
        is_in_crowd = is_in_crowd || (truth_[t]->is_crowd && overlap >= kLeastOverlap);
        if (!truth_[t]->is_crowd && overlap > most) most = overlap, best = t;
      }
      if (most >= kLeastOverlap && truth_[best]->is_difficult) {
        boxes[i].voc = VocVerdict::kIgnored;
      } else if (most >= kLeastOverlap && !is_found[best]) {
        boxes[i].voc = VocVerdict::kTrue;
        is_found[best] = true;
      } else {
        boxes[i].voc = is_in_crowd ? VocVerdict::kIgnored : VocVerdict::kFalse;
      }
    }
  }

  void judge_coco(AreaRange range, std::span<JudgedBox> boxes) const {
    // Objects that count come first: a detection takes one that doesn't only where it finds none that does.
    std::vector<std::size_t> order(truth_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto counts = [&](std::size_t t) { return is_counted(*truth_[t], range); };
    std::stable_partition(order.begin(), order.end(), counts);
    std::vector<bool> is_found;
    for (std::size_t limit = 0; limit < kIouLimits; ++limit) {
      is_found.assign(truth_.size(), false);
      const std::uint64_t bit = std::uint64_t{1} << coco_bit(range, limit);
      for (std::size_t i = 0; i < boxes.size(); ++i) {
        const auto match = match_of(i, iou_limit(limit), order, is_found, counts);
        if (match) {
          is_found[*match] = true;
          boxes[i].matched |= bit;
        }
        const bool is_ignored = match ? !counts(*match) : !is_in(area_of(TrueBox(*found_[i])), range);
        if (is_ignored) boxes[i].ignored |= bit;
      }
    }
  }

  /// The object that a box takes: that which it overlaps most, the last of equal ones.
  template <class Counts>
  std::optional<std::size_t> match_of(std::size_t i, double limit, const std::vector<std::size_t>& order,
                                      const std::vector<bool>& is_found, const Counts& counts) const {
    std::optional<std::size_t> best;
    for (const std::size_t t : order) {
      if (is_found[t] && !truth_[t]->is_crowd) continue;
      if (best && counts(*best) && !counts(t)) break;
      if (overlap_of(i, t) < limit) continue;
      limit = overlap_of(i, t);
      best = t;
    }
    return best;
  }

  std::vector<const Detection*> found_;
  std::vector<const TrueBox*> truth_;
  std::vector<double> overlaps_;  // (found, truth)
};

struct Pair {
  std::size_t found = 0, truth = 0;
  double overlap = 0;
  bool is_same = false;  // class
};

/// The pairs that may be matched, the best first.
std::vector<Pair> pairs_of(std::span<const Detection> found, std::span<const TrueBox> truth, float confidence) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].score < confidence) continue;
    for (std::size_t t = 0; t < truth.size(); ++t) {
      const double overlap = intersection_over_union(TrueBox(found[i]), truth[t]);
      if (overlap >= kLeastOverlap) pairs.push_back({i, t, overlap, found[i].label == truth[t].label});
    }
  }
  std::ranges::stable_sort(pairs, [](const Pair& a, const Pair& b) {
    return a.overlap != b.overlap ? a.overlap > b.overlap : a.is_same && !b.is_same;
  });
  return pairs;
}

bool is_excused(const TrueBox& box) {
  return box.is_difficult || box.is_crowd;
}

/// True where most of a found box lies on a difficult object or in a crowd.
bool is_excused(const Detection& found, std::span<const TrueBox> truth) {
  const TrueBox box(found);
  return std::ranges::any_of(truth, [&](const TrueBox& other) {
    return is_excused(other) && intersection(box, other) >= kLeastOverlap * area_of(box);
  });
}

}  // namespace

TrueBox::TrueBox(const data::LabelledBox& box)
    : x1(box.x1),
      y1(box.y1),
      x2(box.x2),
      y2(box.y2),
      label(box.label),
      is_difficult(box.is_difficult),
      is_crowd(box.is_crowd) {}

TrueBox::TrueBox(const Detection& box) : x1(box.x1), y1(box.y1), x2(box.x2), y2(box.y2), label(box.label) {}

double iou_limit(std::size_t index) {
  // As numpy.linspace(0.5, 0.95, 10) rounds; a box at the very limit has to fall on the same side.
  return index + 1 == kIouLimits ? 0.95 : static_cast<double>(index) * ((0.95 - 0.5) / (kIouLimits - 1)) + 0.5;
}

bool is_counted(const TrueBox& box, AreaRange range) {
  return !box.is_difficult && !box.is_crowd && is_in(box.area.value_or(area_of(box)), range);
}

std::vector<JudgedBox> judge(std::int64_t image, std::span<const Detection> found, std::span<const TrueBox> truth) {
  std::vector<const Detection*> order;
  for (const Detection& one : found) order.push_back(&one);
  std::ranges::stable_sort(order, [](const Detection* a, const Detection* b) {
    return a->label != b->label ? a->label < b->label : a->score > b->score;
  });
  std::vector<JudgedBox> judged(order.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    const std::int32_t label = order[begin]->label;
    for (end = begin; end < order.size() && order[end]->label == label; ++end) {
      judged[end] = {
          .image = image, .label = label, .rank = static_cast<std::int32_t>(end - begin), .score = order[end]->score};
    }
    std::vector<const TrueBox*> of_class;
    for (const TrueBox& box : truth) {
      if (box.label == label) of_class.push_back(&box);
    }
    ClassOnImage({order.begin() + static_cast<std::ptrdiff_t>(begin), order.begin() + static_cast<std::ptrdiff_t>(end)},
                 std::move(of_class))
        .judge(std::span(judged).subspan(begin, end - begin));
  }
  return judged;
}

BoxConfusion::BoxConfusion(std::size_t classes, float confidence)
    : confidence_(confidence), counts_(classes + 1, std::vector<std::int64_t>(classes + 1)) {}

MatchedBoxes BoxConfusion::add(std::span<const Detection> found, std::span<const TrueBox> truth) {
  const std::size_t background = counts_.size() - 1;
  const auto class_of = [](std::int32_t label) { return static_cast<std::size_t>(label); };
  std::vector<bool> has_found(found.size()), has_truth(truth.size());
  MatchedBoxes matched;
  for (const Pair& pair : pairs_of(found, truth, confidence_)) {
    if (has_found[pair.found] || has_truth[pair.truth]) continue;
    has_found[pair.found] = has_truth[pair.truth] = true;
    if (is_excused(truth[pair.truth])) continue;
    ++counts_[class_of(truth[pair.truth].label)][class_of(found[pair.found].label)];
    (pair.is_same ? matched.right : matched.wrong).push_back(pair.found);
  }
  for (std::size_t t = 0; t < truth.size(); ++t) {
    if (has_truth[t] || is_excused(truth[t])) continue;
    ++counts_[class_of(truth[t].label)][background];
    matched.missed.push_back(t);
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (has_found[i] || found[i].score < confidence_ || is_excused(found[i], truth)) continue;
    ++counts_[background][class_of(found[i].label)];
    matched.wrong.push_back(i);
  }
  return matched;
}

}  // namespace evener::detection
