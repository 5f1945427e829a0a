// The trials of one plan, and what they come to together. Inside plan/ only.
#pragma once

#include <string>
#include <vector>

#include "plan/probe.h"

namespace evener::plan {

struct Looks {
  std::vector<Trial> trials;
  std::string failure;  // why a trial could not be ended

  /// The trial with the largest batch. There has to be one.
  const Trial& widest() const;
  /// Through the mean times of each size that the widest trial had, over all trials that had it too.
  StepModel step() const;
  /// Of the largest size's step: within trials, or between them if that is more.
  double noise() const;
};

}  // namespace evener::plan
