// Limits that a history is held against, for continuous integration: "slower=5%".
#pragma once

#include <string>
#include <vector>

#include "report/history.h"

namespace evener::report {

/// What may become worse, and by how much.
struct HistoryLimit {
  enum class What { kSlower, kMemory, kAccuracy, kEnergy };
  What what = What::kSlower;
  double share = 0;  // 0.05 of "5%"; of an accuracy the difference
};

/// Reads "slower=5%,memory=10%". Throws UsageError for what is no limit.
std::vector<HistoryLimit> parse_history_limits(const std::string& text);

/// Where the latest level of a figure is worse than the level before it, or a drift made it worse, surely by more than
/// a limit: the whole 95 % interval lies beyond. "slower" is about the speed that runs are compared by, and "accuracy"
/// about every figure of quality.
std::vector<std::string> beyond_limits(const History& history, const std::vector<HistoryLimit>& limits);

}  // namespace evener::report
