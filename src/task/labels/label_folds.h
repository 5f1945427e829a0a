// Divides labelled samples into folds for cross-validation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/copies.h"

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

}  // namespace evener::task
