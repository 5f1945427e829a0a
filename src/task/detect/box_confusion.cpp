#include "task/detect/box_confusion.h"

#include <algorithm>

#include "task/inference/nms.h"

namespace evener::task {
namespace {

constexpr double kLeastOverlap = 0.5;

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

}  // namespace evener::task
