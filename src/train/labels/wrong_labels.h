// Tells which labels are wrong. A cross-validation gives out-of-sample probabilities: what classifiers say of images
// that they were not fitted to. By these confident learning tells which labels are wrong, and how many (Northcutt,
// Jiang and Chuang: Confident Learning: Estimating Uncertainty in Dataset Labels, JAIR 2021).
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "data/copies.h"
#include "data/each_index.h"
#include "infer/run/softmax_regression.h"

namespace evener::training {

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

/// The group of each of `samples` samples, by its number from 0: samples that are copies of each other, directly or
/// through others, have the same. `pairs` names samples by their places in `indices`, the samples of the dataset.
std::vector<std::uint32_t> copy_groups(std::span<const std::uint32_t> indices,
                                       std::span<const data::CopiedImage> pairs);

/// The fold of each sample, 0 to folds - 1. Samples of a group are in one fold; each fold has about as many samples of
/// each class as the others. Dealt in an order that the seed decides. Throws Error where there are fewer groups than
/// folds.
std::vector<std::uint32_t> stratified_folds(std::span<const std::int32_t> labels, std::size_t classes,
                                            std::span<const std::uint32_t> groups, std::size_t folds,
                                            std::uint64_t seed);

struct CrossValidation {
  ClassProbabilities probabilities;  // of each sample, by the head that was fitted to the other folds
  double decay = 0;                  // of the weights: the one with which labels of other folds were likeliest
  double loss = 0, accuracy = 0;     // mean cross-entropy, and how often the likeliest class was the label
};

/// Fits a softmax head (infer/run/softmax_regression.h) for each fold to the samples of all other folds, and
/// asks it for the probabilities of the fold's. `folds`: the fold of each sample, 0 to count - 1. The decay of the
/// weights is the one of a few with the least cross-entropy on samples of other folds: where there are many samples, on
/// the first fold by heads of some of the others. `progress` counts fits. Throws Error as fit_softmax(); Interrupted.
CrossValidation cross_validate(const inference::FeatureTable& table, std::size_t classes,
                               std::span<const std::uint32_t> folds, int threads, const data::Progress& progress = {});

}  // namespace evener::training
