#include "task/labels/label_folds.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <unordered_map>

#include "base/error.h"
#include "base/random.h"

namespace evener::task {
namespace {

/// Which sample stands for the group of each, shortening the ways on its way.
std::uint32_t head_of(std::vector<std::uint32_t>& heads, std::uint32_t sample) {
  while (heads[sample] != sample) {
    heads[sample] = heads[heads[sample]];
    sample = heads[sample];
  }
  return sample;
}

}  // namespace

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

}  // namespace evener::task
