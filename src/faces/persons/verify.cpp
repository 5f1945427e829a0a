#include "faces/persons/verify.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/error.h"

namespace evener::faces {
namespace {

constexpr std::size_t kFolds = 10;

struct Counts {
  std::size_t same = 0, different = 0;
};

/// What is accepted at each limit, from nothing to all: limits are the distances themselves.
struct Accepted {
  double limit = 0;
  Counts counts;
};

std::vector<Accepted> accepted_by_limit(std::vector<JudgedPair> pairs) {
  std::ranges::sort(pairs, {}, &JudgedPair::distance);
  std::vector<Accepted> steps = {{-std::numeric_limits<double>::infinity(), {}}};
  Counts counts;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    ++(pairs[i].same ? counts.same : counts.different);
    if (i + 1 == pairs.size() || pairs[i + 1].distance > pairs[i].distance)
      steps.push_back({pairs[i].distance, counts});
  }
  return steps;
}

/// Takes the limit in the middle of the gap behind the best one, so that it doesn't depend on a single pair.
double best_limit(const std::vector<JudgedPair>& pairs) {
  const std::vector<Accepted> steps = accepted_by_limit(pairs);
  const std::size_t different = steps.back().counts.different;
  const auto right = [&](const Accepted& step) { return step.counts.same + different - step.counts.different; };
  const auto best = std::ranges::max_element(steps, {}, right);
  const auto next = best + 1;
  if (next == steps.end() || std::isinf(best->limit)) return best->limit;
  return (best->limit + next->limit) / 2;
}

double accuracy_in_folds(const std::vector<JudgedPair>& pairs, std::size_t folds) {
  double sum = 0;
  for (std::size_t fold = 0; fold < folds; ++fold) {
    std::vector<JudgedPair> to_choose, to_try;
    Counts seen;
    for (const JudgedPair& pair : pairs) {
      const std::size_t number = pair.same ? seen.same++ : seen.different++;
      (number % folds == fold ? to_try : to_choose).push_back(pair);
    }
    const double limit = best_limit(to_choose);
    const auto right =
        std::ranges::count_if(to_try, [&](const JudgedPair& pair) { return (pair.distance <= limit) == pair.same; });
    sum += static_cast<double>(right) / static_cast<double>(to_try.size());
  }
  return sum / static_cast<double>(folds);
}

/// Points that lie apart: thousands of limits draw the same line.
void add_point(std::vector<AcceptedShares>& curve, const AcceptedShares& point) {
  constexpr double kApart = 0.005;
  const bool is_end = point.different == 1 && point.same == 1;
  if (!curve.empty() && !is_end && point.different - curve.back().different < kApart &&
      point.same - curve.back().same < kApart) {
    return;
  }
  curve.push_back(point);
}

}  // namespace

Verification verify(const std::vector<JudgedPair>& pairs) {
  Verification result;
  for (const JudgedPair& pair : pairs) ++(pair.same ? result.same : result.different);
  const std::size_t fewest = std::min(result.same, result.different);
  if (fewest < kFewestPairs) {
    throw Error("pairs are judged by at least two of the same person and two of different ones; there are " +
                std::to_string(result.same) + " and " + std::to_string(result.different));
  }
  result.accuracy = accuracy_in_folds(pairs, std::min(kFolds, fewest));
  const auto same = static_cast<double>(result.same), different = static_cast<double>(result.different);
  double least_gap = 2;
  for (const Accepted& step : accepted_by_limit(pairs)) {
    const double accepted = static_cast<double>(step.counts.same) / same;
    const double wrongly_accepted = static_cast<double>(step.counts.different) / different;
    add_point(result.curve, {wrongly_accepted, accepted});
    if (wrongly_accepted <= 0.01 && different >= 100) result.accepted_at_1_percent = accepted;
    if (wrongly_accepted <= 0.001 && different >= 1000) result.accepted_at_01_percent = accepted;
    const double wrongly_refused = 1 - accepted, gap = std::abs(wrongly_accepted - wrongly_refused);
    if (gap >= least_gap) continue;
    least_gap = gap;
    result.equal_error_rate = (wrongly_accepted + wrongly_refused) / 2;
    result.equal_error_distance = step.limit;
  }
  return result;
}

}  // namespace evener::faces
