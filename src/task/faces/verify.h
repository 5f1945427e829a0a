// How well distances tell whether two faces are of one person, as face recognition is judged.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace evener::task {

struct JudgedPair {
  double distance = 0;
  bool same = false;  // one person, in truth
};

/// A point of the ROC curve.
struct AcceptedShares {
  double different = 0, same = 0;  // shares of the pairs of two persons, and of one, that a limit accepts
};

struct Verification {
  std::size_t same = 0, different = 0;  // pairs
  double accuracy = 0;                  // mean over the folds
  double equal_error_rate = 0;          // where as many of the same are refused as of the different are accepted
  double equal_error_distance = 0;      // the limit at which that is so
  /// The share of the same that is accepted where at most 1 %, or 0.1 %, of the different are; none where there are too
  /// few of these to tell.
  std::optional<double> accepted_at_1_percent, accepted_at_01_percent;
  std::vector<AcceptedShares> curve;  // of all limits from 0 on; some hundred points at most
};

/// Pairs of one person, and of two, that can be judged at least.
inline constexpr std::size_t kFewestPairs = 2;

/// Judges pairs as LFW's protocol does: the limit is chosen on nine tenths of the pairs of each kind and tried on the
/// last tenth, ten times; with fewer than ten of a kind there are as many folds. Throws Error for fewer than
/// kFewestPairs of a kind.
Verification verify(const std::vector<JudgedPair>& pairs);

}  // namespace evener::task
