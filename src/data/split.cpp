#include "data/split.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "base/error.h"
#include "base/random.h"

namespace evener::data {

namespace {

using Counts = std::array<std::size_t, 3>;  // train, val, test
using Percent = std::array<double, 3>;

std::string split_text(const std::vector<double>& percent) {
  std::string text;
  for (const double part : percent) {
    char number[32];
    std::snprintf(number, sizeof(number), "%s%g", text.empty() ? "" : "/", part);
    text += number;
  }
  return text;
}

Percent checked(const std::vector<double>& percent) {
  const bool is_count_right = percent.size() == 2 || percent.size() == 3;
  double sum = 0;
  bool is_range_right = true;
  for (const double part : percent) {
    is_range_right = is_range_right && part >= 0 && part <= 100;
    sum += part;
  }
  if (!is_count_right || !is_range_right || sum <= 0 || sum > 100 + 1e-9) {
    throw UsageError("impossible split '" + split_text(percent) +
                     "': give the percentages of train, val and, if wanted, test; their sum at most 100, e.g. 85/2/13");
  }
  return {percent[0], percent[1], percent.size() == 3 ? percent[2] : 0.0};
}

/// How many of `count` samples go to each part. Rounds by largest remainders; then each empty part takes one sample,
/// and where there are too few samples the training part comes first.
Counts divide(std::size_t count, const Percent& percent) {
  Counts parts{};
  std::array<double, 3> remainder{};
  const double sum = percent[0] + percent[1] + percent[2];
  const auto total = static_cast<std::size_t>(std::llround(static_cast<double>(count) * std::min(sum, 100.0) / 100));
  std::size_t assigned = 0;
  for (std::size_t p = 0; p < 3; ++p) {
    // Rounding of numbers such as 28.999999999999996 must not turn 29 samples into 28.
    const double exact = static_cast<double>(count) * percent[p] / 100 + 1e-9;
    parts[p] = static_cast<std::size_t>(exact);
    remainder[p] = percent[p] > 0 ? exact - static_cast<double>(parts[p]) : -1;
    assigned += parts[p];
  }
  for (; assigned < total; ++assigned) {
    const auto p = static_cast<std::size_t>(std::max_element(remainder.begin(), remainder.end()) - remainder.begin());
    ++parts[p];
    remainder[p] = 0;
  }
  for (std::size_t p = 0; p < 3; ++p) {
    if (percent[p] <= 0 || parts[p] > 0) continue;
    const auto largest = std::max_element(parts.begin(), parts.end());
    if (assigned < count) {
      ++assigned;
    } else if (*largest >= 2) {
      --*largest;
    } else if (p == 0 && *largest == 1) {
      --*largest;  // too few for all parts: train comes first
    } else {
      continue;
    }
    ++parts[p];
  }
  return parts;
}

/// Shuffles `members` by (seed, key) and deals them to the parts.
void deal(const std::vector<std::uint32_t>& members, const Percent& percent, std::uint64_t seed, std::uint64_t key,
          Split& split) {
  const auto order = permutation(static_cast<std::uint32_t>(members.size()), Random(seed, Purpose::kSplit, key));
  const Counts counts = divide(members.size(), percent);
  std::size_t next = 0;
  std::size_t p = 0;
  for (std::vector<std::uint32_t>* part : {&split.train, &split.val, &split.test}) {
    for (std::size_t i = 0; i < counts[p]; ++i) part->push_back(members[order[next++]]);
    ++p;
  }
}

void sort_parts(Split& split) {
  for (std::vector<std::uint32_t>* part : {&split.train, &split.val, &split.test}) {
    std::sort(part->begin(), part->end());
  }
}

}  // namespace

Split stratified_split(const std::vector<std::int32_t>& labels, std::size_t class_count,
                       const std::vector<double>& percent, std::uint64_t seed) {
  const Percent parts_percent = checked(percent);
  std::vector<std::vector<std::uint32_t>> of_class(class_count);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    of_class.at(static_cast<std::size_t>(labels[i])).push_back(static_cast<std::uint32_t>(i));
  }
  Split split;
  for (std::size_t c = 0; c < class_count; ++c) deal(of_class[c], parts_percent, seed, c, split);
  sort_parts(split);
  return split;
}

Split plain_split(std::size_t count, const std::vector<double>& percent, std::uint64_t seed) {
  return stratified_split(std::vector<std::int32_t>(count), 1, percent, seed);
}

Split split_samples(const Dataset& dataset, std::span<const std::uint32_t> samples, const std::vector<double>& percent,
                    std::uint64_t seed) {
  Split split;
  if (dataset.target_kind() == TargetKind::kBoxes) {
    split = plain_split(samples.size(), percent, seed);
  } else {
    std::vector<std::int32_t> labels;
    labels.reserve(samples.size());
    for (const std::uint32_t sample : samples) labels.push_back(label_of(dataset, sample));
    split = stratified_split(labels, dataset.classes().size(), percent, seed);
  }
  for (std::vector<std::uint32_t>* part : {&split.train, &split.val, &split.test}) {
    for (std::uint32_t& index : *part) index = samples[index];
  }
  return split;
}

}  // namespace evener::data
