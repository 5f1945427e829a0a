#include "train/labels/wrong_labels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "base/stop.h"

namespace evener::training {

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
  const auto is_half_reached = [&](std::size_t c) { return double{probabilities[c]} >= thresholds[c] / 2; };
  if (is_wrong && is_other_likelier) return LabelDoubt::kWrong;
  if (is_other_likelier && is_half_reached(label) && is_half_reached(other)) return LabelDoubt::kBoth;
  for (std::size_t c = 0; c < thresholds.size(); ++c) {
    if (is_half_reached(c)) return std::nullopt;
  }
  return LabelDoubt::kNeither;
}

/// Which sample stands for the group of each, shortening the ways on its way.
std::uint32_t head_of(std::vector<std::uint32_t>& heads, std::uint32_t sample) {
  while (heads[sample] != sample) {
    heads[sample] = heads[heads[sample]];
    sample = heads[sample];
  }
  return sample;
}

constexpr std::array<double, 3> kDecays = {0.01, 0.1, 1};
/// So many features of all samples are fitted in moments: then each decay is tried on all folds.
constexpr std::size_t kFewValues = 1'000'000;
/// Otherwise on one fold, with no more samples than these.
constexpr std::size_t kMostTried = 4000;

/// The samples of all folds but one; where they are more than `most`, some from everywhere.
inference::FeatureTable without_fold(const inference::FeatureTable& table, std::span<const std::uint32_t> folds,
                                     std::uint32_t left_out, std::size_t most) {
  inference::FeatureTable rest;
  rest.values = table.values;
  const std::size_t every = std::max<std::size_t>(1, (table.samples() + most - 1) / most);
  for (std::size_t i = 0; i < table.samples(); i += every) {
    if (folds[i] == left_out) continue;
    const float* const row = table.features.data() + i * table.values;
    rest.features.insert(rest.features.end(), row, row + table.values);
    rest.labels.push_back(table.labels[i]);
  }
  return rest;
}

void write_probabilities(const inference::LinearFit& fit, std::span<const float> features,
                         std::span<float> probabilities) {
  for (std::size_t c = 0; c < probabilities.size(); ++c) {
    double sum = double{fit.bias[c]};
    const float* const weights = fit.weight.data() + c * features.size();
    for (std::size_t i = 0; i < features.size(); ++i) sum += double{weights[i]} * double{features[i]};
    probabilities[c] = static_cast<float>(sum);
  }
  const float largest = *std::ranges::max_element(probabilities);
  double total = 0;
  for (float& value : probabilities) {
    value = std::exp(value - largest);
    total += double{value};
  }
  for (float& value : probabilities) value = static_cast<float>(double{value} / total);
}

class Validation {
 public:
  Validation(const inference::FeatureTable& table, std::size_t classes, std::span<const std::uint32_t> folds,
             int threads, const data::Progress& progress)
      : table_(table),
        classes_(classes),
        folds_(folds),
        count_(1 + *std::ranges::max_element(folds)),
        threads_(threads),
        progress_(progress) {}

  CrossValidation run() {
    const bool is_small = table_.samples() * table_.values <= kFewValues;
    const std::uint32_t tried = is_small ? count_ : 1;
    fits_ = kDecays.size() * tried + (is_small ? 0 : count_);
    CrossValidation best;
    for (const double decay : kDecays) {
      CrossValidation one = empty(decay);
      for (std::uint32_t fold = 0; fold < tried; ++fold) {
        validate(fold, is_small ? table_.samples() : kMostTried, one);
      }
      if (best.decay == 0 || one.loss < best.loss) best = std::move(one);
    }
    if (!is_small) {
      best = empty(best.decay);
      for (std::uint32_t fold = 0; fold < count_; ++fold) validate(fold, table_.samples(), best);
    }
    best.loss /= static_cast<double>(table_.samples());
    best.accuracy /= static_cast<double>(table_.samples());
    return best;
  }

 private:
  CrossValidation empty(double decay) const {
    CrossValidation one{{}, decay, 0, 0};
    one.probabilities.classes = classes_;
    one.probabilities.values.resize(table_.samples() * classes_);
    return one;
  }

  /// Judges a fold by a head that at most `most` samples of the others fit. Adds its losses and right answers to `to`.
  void validate(std::uint32_t fold, std::size_t most, CrossValidation& to) {
    if (stop_requested()) throw Interrupted("interrupted while heads were fitted; nothing was written");
    const inference::LinearFit fit =
        inference::fit_softmax(without_fold(table_, folds_, fold, most), classes_, to.decay, threads_);
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < table_.samples(); ++i) {
      if (folds_[i] == fold) members.push_back(i);
    }
    data::for_each_index(members.size(), threads_, [&](std::size_t at) {
      const std::size_t i = members[at];
      write_probabilities(fit, std::span(table_.features).subspan(i * table_.values, table_.values),
                          std::span(to.probabilities.values).subspan(i * classes_, classes_));
    });
    for (const std::size_t i : members) {
      const std::span<const float> of = to.probabilities.of(i);
      const auto label = static_cast<std::size_t>(table_.labels[i]);
      to.loss -= std::log(std::max(1e-12, double{of[label]}));
      to.accuracy += static_cast<std::size_t>(std::ranges::max_element(of) - of.begin()) == label ? 1 : 0;
    }
    if (progress_) progress_(++done_, fits_);
  }

  const inference::FeatureTable& table_;
  const std::size_t classes_;
  const std::span<const std::uint32_t> folds_;
  const std::uint32_t count_;
  const int threads_;
  const data::Progress& progress_;
  std::size_t done_ = 0, fits_ = 0;
};

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

std::vector<std::uint32_t> copy_groups(std::span<const std::uint32_t> indices,
                                       std::span<const data::CopiedImage> pairs) {
  std::unordered_map<std::uint32_t, std::uint32_t> places;
  for (std::size_t i = 0; i < indices.size(); ++i) places.emplace(indices[i], static_cast<std::uint32_t>(i));
  std::vector<std::uint32_t> heads(indices.size());
  std::iota(heads.begin(), heads.end(), 0U);
  for (const data::CopiedImage& pair : pairs) {
    const std::uint32_t one = head_of(heads, places.at(pair.judged)), other = head_of(heads, places.at(pair.trained));
    heads[std::max(one, other)] = std::min(one, other);
  }
  std::vector<std::uint32_t> groups(indices.size());
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < groups.size(); ++i) {
    const std::uint32_t head = head_of(heads, i);
    groups[i] = head == i ? count++ : groups[head];
  }
  return groups;
}

std::vector<std::uint32_t> stratified_folds(std::span<const std::int32_t> labels, std::size_t classes,
                                            std::span<const std::uint32_t> groups, std::size_t folds,
                                            std::uint64_t seed) {
  const std::uint32_t group_count = groups.empty() ? 0 : *std::ranges::max_element(groups) + 1;
  if (folds < 2 || group_count < folds) {
    throw Error(std::to_string(group_count) + " different images can't be divided into " + std::to_string(folds) +
                " folds");
  }
  std::vector<std::vector<std::uint32_t>> members(group_count);
  for (std::size_t i = 0; i < groups.size(); ++i) members[groups[i]].push_back(static_cast<std::uint32_t>(i));
  // Large groups first: small ones even out what these leave uneven.
  std::vector<std::uint32_t> order = permutation(group_count, Random(seed, Purpose::kSplit, folds));
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::uint32_t group) { return members[group].size(); });

  std::vector<std::vector<std::size_t>> of_class(folds, std::vector<std::size_t>(classes));
  std::vector<std::size_t> of_fold(folds);
  std::vector<std::uint32_t> found(labels.size());
  for (const std::uint32_t group : order) {
    const auto fullness = [&](std::size_t fold) {
      std::size_t same = 0;
      for (const std::uint32_t sample : members[group])
        same += of_class[fold][static_cast<std::size_t>(labels[sample])];
      return std::tuple(same, of_fold[fold], fold);
    };
    std::size_t emptiest = 0;
    for (std::size_t fold = 1; fold < folds; ++fold) {
      if (fullness(fold) < fullness(emptiest)) emptiest = fold;
    }
    for (const std::uint32_t sample : members[group]) {
      found[sample] = static_cast<std::uint32_t>(emptiest);
      ++of_class[emptiest][static_cast<std::size_t>(labels[sample])];
    }
    of_fold[emptiest] += members[group].size();
  }
  return found;
}

CrossValidation cross_validate(const inference::FeatureTable& table, std::size_t classes,
                               std::span<const std::uint32_t> folds, int threads, const data::Progress& progress) {
  return Validation(table, classes, folds, threads, progress).run();
}

}  // namespace evener::training
