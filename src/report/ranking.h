// What several runs of one job showed against each other. Inside report/ only.
#pragma once

#include <string>
#include <vector>

#include "report/run.h"

namespace evener::report {

/// One run each can't tell apart speeds that differ less: what is seen within a run doesn't show how much runs differ.
constexpr double kRunToRunNoise = 0.05;
/// Of more runs than these a sentence names the first ones alone.
constexpr std::size_t kMostNamed = 6;
/// Shares further apart are not called equal, even where chance could explain them.
constexpr double kEqualShare = 0.01;

/// Where the job ran fastest, and by how much; of runs that can't be told apart none is named. Without full stops.
std::vector<std::string> speed_sentences(const std::vector<const Run*>& group);

/// Whether the runs differ in the figures of quality that all of them have. Without full stops.
std::vector<std::string> quality_sentences(const std::vector<const Run*>& group);

}  // namespace evener::report
