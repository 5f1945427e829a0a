// Cross-validation of labelled samples: divides them into folds, and tells out-of-sample probabilities: what
// classifiers say of images that they were not fitted to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/copies.h"
#include "data/each_index.h"
#include "task/fine_tuning/softmax_regression.h"
#include "task/labels/confident_joint.h"

namespace evener::task {

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

/// Fits a softmax head (task/fine_tuning/softmax_regression.h) for each fold to the samples of all other folds, and
/// asks it for the probabilities of the fold's. `folds`: the fold of each sample, 0 to count - 1. The decay of the
/// weights is the one of a few with the least cross-entropy on samples of other folds: where there are many samples, on
/// the first fold by heads of some of the others. `progress` counts fits. Throws Error as fit_softmax(); Interrupted.
CrossValidation cross_validate(const FeatureTable& table, std::size_t classes, std::span<const std::uint32_t> folds,
                               int threads, const data::Progress& progress = {});

}  // namespace evener::task
