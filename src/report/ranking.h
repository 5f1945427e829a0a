// Sentences that compare several runs of one job. Inside report/ only.
#pragma once

#include <string>
#include <vector>

#include "report/run.h"

namespace evener::report {

/// With one run each, smaller differences in speed are not claimed: the noise within a run doesn't show how much runs
/// differ from each other.
constexpr double kRunToRunNoise = 0.05;
/// Of more runs, a sentence names only the first ones.
constexpr std::size_t kMostNamed = 6;
/// Shares that differ by more are not called equal, even if chance could explain it.
constexpr double kEqualShare = 0.01;

/// Sentences, without full stops, on which run was fastest and by how much. If several can't be told apart, none of
/// them is called fastest.
std::vector<std::string> speed_sentences(const std::vector<const Run*>& group);

/// A sentence, without full stop, on which run took the least energy, or between which that is undecided; "" where
/// fewer than two have an energy of the same class, or one was disturbed.
std::string energy_sentence(const std::vector<const Run*>& group);

/// Sentences, without full stops, on whether the runs differ in the figures of quality that all of them have.
std::vector<std::string> quality_sentences(const std::vector<const Run*>& group);

}  // namespace evener::report
