// What was taken for what: boxes found and boxes known, matched whatever their classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "task/detect/judge.h"

namespace evener::task {

/// One image's boxes, as BoxConfusion has matched them.
struct MatchedBoxes {
  std::vector<std::size_t> missed;  // of the known boxes: no box was found there
  std::vector<std::size_t> wrong;   // of the found boxes: nothing is there, or something of another class
  std::vector<std::size_t> right;   // of the found boxes
};

/// Counts of (true class, found class); the last row and column are the background: found where nothing is, and missed.
/// Only boxes that are as likely as `confidence` take part. Pairs with the greatest intersection over union, of at
/// least 0.5, are matched first, each box once. Difficult objects and crowds excuse what is found there, and aren't
/// missed.
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
