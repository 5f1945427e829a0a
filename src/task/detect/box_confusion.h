// The confusion matrix of a detector: which class was found for which, with boxes matched regardless of their classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "task/detect/judge.h"

namespace evener::task {

/// The boxes of one image as BoxConfusion has matched them, by their indices.
struct MatchedBoxes {
  std::vector<std::size_t> missed;  // known boxes at which no box was found
  std::vector<std::size_t> wrong;   // found boxes where nothing is, or an object of another class
  std::vector<std::size_t> right;   // found boxes with an object of their class
};

/// Counts of (true class, found class). The last row counts boxes that were found where nothing is, the last column
/// objects that were missed. Only boxes with a score of at least `confidence` take part. Pairs with the greatest
/// intersection over union, of at least 0.5, are matched first, each box once. Difficult objects and crowds don't count
/// as missed, nor boxes found on them as wrong.
class BoxConfusion {
 public:
  BoxConfusion(std::size_t classes, float confidence);

  MatchedBoxes add(std::span<const Detection> found, std::span<const TrueBox> truth);

  const std::vector<std::vector<std::int64_t>>& counts() const { return counts_; }

 private:
  const float confidence_;
  std::vector<std::vector<std::int64_t>> counts_;
};

}  // namespace evener::task
