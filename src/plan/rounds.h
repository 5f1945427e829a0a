// The rounds in which one plan was tried, and what they come to together. Inside plan/ only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/probe.h"

namespace evener::plan {

struct Rounds {
  std::vector<Trial> trials;
  std::string failure;  // why a trial could not be ended

  /// The trial with the largest batch. There has to be one.
  const Trial& widest() const;
  /// Through the mean times of each size that the widest trial had, over all trials that had it too.
  StepModel step() const;
  /// Half of the 95 % interval of the largest size's step over all trials, or of what trials differ by if that is more,
  /// as a share of the step. Absent where there are too few blocks of steps for an interval.
  std::optional<double> noise() const;
};

}  // namespace evener::plan
