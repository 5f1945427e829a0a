#include "task/labels/confident_joint.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/error.h"

namespace evener::task {
namespace {

constexpr double kLeastThreshold = 1e-6;
/// Probabilities that are so little below a threshold reach it, which rounding may have moved.
constexpr double kTolerance = 1e-6;
constexpr double kUnreachable = 2;

void require_labels(const ClassProbabilities& probabilities, std::span<const std::int32_t> labels) {
  if (probabilities.samples() != labels.size()) {
    throw Error("there are probabilities of " + std::to_string(probabilities.samples()) + " samples, and " +
                std::to_string(labels.size()) + " labels");
  }
  for (const std::int32_t label : labels) {
    if (label >= 0 && static_cast<std::size_t>(label) < probabilities.classes) continue;
    throw Error("label " + std::to_string(label) + " is none of " + std::to_string(probabilities.classes) + " classes");
  }
}

std::vector<double> mean_self_confidence(const ClassProbabilities& probabilities, std::span<const std::int32_t> labels,
                                         const std::set<std::int32_t>& unjudged) {
  std::vector<double> sums(probabilities.classes), counts(probabilities.classes);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto label = static_cast<std::size_t>(labels[i]);
    sums[label] += double{probabilities.of(i)[label]};
    ++counts[label];
  }
  for (std::size_t c = 0; c < sums.size(); ++c) {
    const bool is_judged = counts[c] > 0 && !unjudged.contains(static_cast<std::int32_t>(c));
    sums[c] = is_judged ? std::max(kLeastThreshold, sums[c] / counts[c]) : kUnreachable;
  }
  return sums;
}

std::int32_t confident_class(std::span<const float> probabilities, const std::vector<double>& thresholds) {
  std::int32_t only = -1;
  std::size_t reached = 0;
  for (std::size_t c = 0; c < thresholds.size(); ++c) {
    if (double{probabilities[c]} < thresholds[c] - kTolerance) continue;
    only = static_cast<std::int32_t>(c);
    ++reached;
  }
  if (reached < 2) return only;
  return static_cast<std::int32_t>(std::ranges::max_element(probabilities) - probabilities.begin());
}

/// The likeliest class that isn't the label's.
std::size_t likeliest_other(std::span<const float> probabilities, std::size_t label) {
  std::size_t best = label == 0 ? 1 : 0;
  for (std::size_t c = 0; c < probabilities.size(); ++c) {
    if (c != label && probabilities[c] > probabilities[best]) best = c;
  }
  return best;
}

bool half_reached(std::span<const float> probabilities, const std::vector<double>& thresholds, std::size_t c) {
  return double{probabilities[c]} >= thresholds[c] / 2;
}

/// Makes the surest of each pair of label and likelier class kLikely, as many as the estimate has beyond the wrong
/// ones. `others`: samples of which another class is likelier, none of them wrong.
void add_likely(const LabelMatrix& estimated, std::vector<DoubtfulLabel> others, std::vector<DoubtfulLabel>& doubtful) {
  LabelMatrix missing = estimated;
  for (const DoubtfulLabel& one : doubtful) {
    if (one.kind == LabelDoubt::kWrong) {
      --missing[static_cast<std::size_t>(one.label)][static_cast<std::size_t>(one.suggested)];
    }
  }
  std::ranges::stable_sort(others, std::ranges::greater{}, &DoubtfulLabel::score);
  for (DoubtfulLabel& one : others) {
    double& left = missing[static_cast<std::size_t>(one.label)][static_cast<std::size_t>(one.suggested)];
    if (left < 0.5) continue;
    --left;
    one.kind = LabelDoubt::kLikely;
    std::erase_if(doubtful, [&](const DoubtfulLabel& known) { return known.sample == one.sample; });
    doubtful.push_back(one);
  }
}

std::optional<LabelDoubt> doubt_of(std::span<const float> probabilities, const std::vector<double>& thresholds,
                                   std::size_t label, std::size_t other, std::int32_t confident) {
  const bool is_other_likelier = probabilities[other] > probabilities[label];
  const bool is_wrong = confident >= 0 && static_cast<std::size_t>(confident) != label;
  if (is_wrong && is_other_likelier) return LabelDoubt::kWrong;
  if (is_other_likelier && half_reached(probabilities, thresholds, label) &&
      half_reached(probabilities, thresholds, other)) {
    return LabelDoubt::kBoth;
  }
  for (std::size_t c = 0; c < thresholds.size(); ++c) {
    if (half_reached(probabilities, thresholds, c)) return std::nullopt;
  }
  return LabelDoubt::kNeither;
}

}  // namespace

ConfidentJoint confident_joint(const ClassProbabilities& probabilities, std::span<const std::int32_t> labels,
                               const std::set<std::int32_t>& unjudged) {
  require_labels(probabilities, labels);
  ConfidentJoint joint{mean_self_confidence(probabilities, labels, unjudged),
                       LabelMatrix(probabilities.classes, std::vector<double>(probabilities.classes)),
                       {}};
  joint.confident.reserve(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const bool is_judged = !unjudged.contains(labels[i]);
    joint.confident.push_back(is_judged ? confident_class(probabilities.of(i), joint.thresholds) : -1);
    if (joint.confident.back() < 0) continue;
    ++joint.counts[static_cast<std::size_t>(labels[i])][static_cast<std::size_t>(joint.confident.back())];
  }
  for (std::size_t c = 0; c < joint.counts.size(); ++c) joint.counts[c][c] = std::max(1.0, joint.counts[c][c]);
  return joint;
}

LabelMatrix estimated_joint(const ConfidentJoint& joint, std::span<const std::int32_t> labels) {
  LabelMatrix estimated = joint.counts;
  std::vector<double> labelled(estimated.size());
  for (const std::int32_t label : labels) ++labelled.at(static_cast<std::size_t>(label));
  for (std::size_t row = 0; row < estimated.size(); ++row) {
    double sum = 0;
    for (const double count : estimated[row]) sum += count;
    for (double& count : estimated[row]) count *= labelled[row] / sum;
  }
  return estimated;
}

std::vector<DoubtfulLabel> doubtful_labels(const ClassProbabilities& probabilities,
                                           std::span<const std::int32_t> labels, const ConfidentJoint& joint) {
  require_labels(probabilities, labels);
  std::vector<DoubtfulLabel> doubtful, others;
  if (probabilities.classes < 2) return doubtful;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::span<const float> of = probabilities.of(i);
    const auto label = static_cast<std::size_t>(labels[i]);
    const std::size_t other = likeliest_other(of, label);
    const auto kind = doubt_of(of, joint.thresholds, label, other, joint.confident[i]);
    const bool is_wrong = kind == LabelDoubt::kWrong;
    if (!kind && of[other] <= of[label]) continue;
    const DoubtfulLabel one{.sample = static_cast<std::uint32_t>(i),
                            .label = labels[i],
                            .suggested = static_cast<std::int32_t>(other),
                            .probability = double{of[other]},
                            .label_probability = double{of[label]},
                            .score = (1 + double{of[other]} - double{of[label]}) / 2,
                            .kind = kind.value_or(LabelDoubt::kLikely)};
    if (kind) doubtful.push_back(one);
    if (!is_wrong && of[other] > of[label]) others.push_back(one);
  }
  add_likely(estimated_joint(joint, labels), std::move(others), doubtful);
  std::ranges::sort(doubtful, {},
                    [](const DoubtfulLabel& one) { return std::tuple(one.kind, -one.score, one.sample); });
  return doubtful;
}

}  // namespace evener::task
