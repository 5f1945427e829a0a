// All trials of one plan and the figures over them. Inside plan/ only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/probe.h"

namespace evener::plan {

struct Rounds {
  std::vector<Trial> trials;
  std::string failure;  // why a trial failed; "" = none did

  /// The trial with the largest batch. `trials` must not be empty.
  const Trial& widest() const;
  /// The step model fitted to the mean times, over all trials, of the batch sizes that widest() has.
  StepModel step() const;
  /// The uncertainty of the step time at the largest size, as a share of it: half of the 95 % interval over all trials'
  /// blocks, or half of the difference between trials if that is more. Absent if there are too few blocks for an
  /// interval.
  std::optional<double> noise() const;
  /// The mean power of all trials at the largest size; absent where none of them knows it.
  std::optional<double> watts() const;
  /// Its uncertainty as a share of it: half of the 95 % interval by Student's t, or half of the difference between
  /// trials if that is more. Absent for fewer than five parts.
  std::optional<double> watts_noise() const;

 private:
  /// Whether the trial came as far as the largest size.
  bool is_widest(const Trial& trial) const;
};

}  // namespace evener::plan
