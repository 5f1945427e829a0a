// Dividing data into parts for training, validation and test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"

namespace evener::data {

/// The samples of each part. Indices ascend within a part.
struct Split {
  std::vector<std::uint32_t> train, val, test;
  // Samples in none of these parts, where the parts are those of an earlier training (data/open/split_manifest.h):
  std::vector<std::uint32_t> added = {};    // images that were added after that training
  std::vector<std::uint32_t> changed = {};  // images whose content has changed since
};

/// Stratified, seeded split: each class is divided by `percent` (train, val[, test]; sum <= 100), to the nearest whole
/// samples; every class with at least as many samples as there are non-zero parts has one in each; a class with fewer
/// has its first sample in train. Throws UsageError for impossible percentages.
Split stratified_split(const std::vector<std::int32_t>& labels, std::size_t class_count,
                       const std::vector<double>& percent, std::uint64_t seed);

/// The same for `count` samples that have no classes, as if all were of one: shuffled by the seed, then divided.
Split plain_split(std::size_t count, const std::vector<double>& percent, std::uint64_t seed);

/// Divides some samples of a dataset: stratified where each has a class, plainly where they have boxes.
Split split_samples(const Dataset& dataset, std::span<const std::uint32_t> samples, const std::vector<double>& percent,
                    std::uint64_t seed);

}  // namespace evener::data
