// Judges face verification: how well the distance tells whether two faces are of one person.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace evener::faces {

struct JudgedPair {
  double distance = 0;
  bool same = false;  // the ground truth: both faces are of one person
};

/// A point of the ROC curve.
struct AcceptedShares {
  double different = 0, same = 0;  // shares that a limit accepts: of the pairs of two persons (false accepts), and of
                                   // one (true accepts)
};

struct Verification {
  std::size_t same = 0, different = 0;  // pairs
  double accuracy = 0;                  // mean over the folds of cross-validation
  double equal_error_rate = 0;          // the share at the limit that refuses as many pairs of one person as it accepts
                                        // pairs of two
  double equal_error_distance = 0;      // that limit
  /// The share of pairs of one person that is accepted by the limit that accepts at most 1 %, or 0.1 %, of the pairs of
  /// two; absent where there are too few pairs of two persons to tell.
  std::optional<double> accepted_at_1_percent, accepted_at_01_percent;
  std::vector<AcceptedShares> curve;  // for growing limits; some hundred points at most
};

/// The least number of pairs of one person, and of pairs of two, that can be judged.
inline constexpr std::size_t kFewestPairs = 2;

/// Judges pairs by LFW's protocol, ten-fold cross-validation: the limit is chosen on nine tenths of the pairs of each
/// kind and tried on the last tenth. With fewer than ten pairs of a kind there are as many folds as pairs. Throws Error
/// for fewer than kFewestPairs of a kind.
Verification verify(const std::vector<JudgedPair>& pairs);

}  // namespace evener::faces
