// Confident learning (Northcutt, Jiang and Chuang: Confident Learning: Estimating Uncertainty in Dataset Labels, JAIR
// 2021): tells by out-of-sample probabilities which labels are wrong, and how many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

namespace evener::task {

/// The probability of each class for each sample.
struct ClassProbabilities {
  std::size_t classes = 0;
  std::vector<float> values;  // (samples, classes), row-major

  std::size_t samples() const { return classes == 0 ? 0 : values.size() / classes; }
  std::span<const float> of(std::size_t sample) const { return std::span(values).subspan(sample * classes, classes); }
};

/// A matrix [label][class] of counts.
using LabelMatrix = std::vector<std::vector<double>>;

struct ConfidentJoint {
  /// Of each class: its mean probability over the samples that are labelled with it, 1e-6 at least; 2, which no
  /// probability reaches, where no sample is.
  std::vector<double> thresholds;
  /// How many samples of each label belong confidently to each class. The diagonal is 1 at least.
  LabelMatrix counts;
  /// The class of each sample: the only one whose probability reaches its threshold, and where several do, the
  /// likeliest of all. -1: none does.
  std::vector<std::int32_t> confident;
};

/// Counts the samples by label and class. Throws Error where the lengths differ, and for a label that is none of the
/// classes. `unjudged`: classes that no head could learn without the sample that it judges, such as those of one image
/// alone: no sample belongs to them confidently, and their own are in no doubt.
ConfidentJoint confident_joint(const ClassProbabilities& probabilities, std::span<const std::int32_t> labels,
                               const std::set<std::int32_t>& unjudged = {});

/// The estimated number of samples by label and true class: each row of the counts scaled to the number of samples with
/// that label.
LabelMatrix estimated_joint(const ConfidentJoint& joint, std::span<const std::int32_t> labels);

/// What seems to be the matter with a label.
enum class LabelDoubt : std::uint8_t {
  kWrong,   // the image belongs confidently to another class, and another is likelier than its label's
  kLikely,  // another class is likelier, and the image is one of the surest of as many as are estimated to be wrong
  kBoth,    // the label's class and a likelier other one both reach half of their thresholds
  kNeither  // no class reaches half of its threshold
};

/// A label that is in doubt.
struct DoubtfulLabel {
  std::uint32_t sample = 0;
  std::int32_t label = 0, suggested = 0;          // suggested: the likeliest other class
  double probability = 0, label_probability = 0;  // of the two classes
  double score = 0;                               // 1 - the normalised margin: (1 + the likeliest other class's
                                                  // probability - the label's) / 2; 1 = surely wrong
  LabelDoubt kind = LabelDoubt::kWrong;
};

/// The labels in doubt, kind by kind; within a kind those with the highest score first. As the confident ones among the
/// wrong are fewer than there are, the surest others of each pair of label and class are added, as kLikely, until there
/// are as many as estimated_joint() says.
std::vector<DoubtfulLabel> doubtful_labels(const ClassProbabilities& probabilities,
                                           std::span<const std::int32_t> labels, const ConfidentJoint& joint);

}  // namespace evener::task
