// Learning-rate schedules: how the rate changes from step to step.
#pragma once

#include <cstdint>
#include <string>

namespace evener::training {

/// The rate as a function of the step: linear warm-up, then constant, a drop every few epochs, or half a cosine to
/// zero. One-cycle brings its own warm-up: from base / 25 up to base over the first 30 % of all steps and down to
/// base / 250000 over the rest, both as half cosines (Smith 2018; torch.optim.lr_scheduler.OneCycleLR without its
/// cycle of the momentum).
struct Schedule {
  enum class Kind { kConstant, kStep, kCosine, kOneCycle };
  Kind kind = Kind::kConstant;
  int drop_epochs = 30;  // kStep: every drop_epochs epochs the rate is multiplied by drop_factor
  double drop_factor = 0.1;
  double warmup_epochs = 0;  // the rate grows linearly from base / steps to base over these

  /// The rate of step `step` (0-based, counted over all epochs).
  double rate(double base, std::int64_t step, std::int64_t steps_per_epoch, std::int64_t epochs) const;
};

/// A sentence on how the rate jumps where a run that was to have `epochs_before` epochs is resumed at `step` with
/// `epochs`: cosine and one-cycle are stretched over all epochs. "" where the rate stays as it was.
std::string new_end_text(const Schedule& schedule, double base, std::int64_t step, std::int64_t steps_per_epoch,
                         std::int64_t epochs_before, std::int64_t epochs);

/// "constant", "cosine", "step", "step:30", "step:30:0.1", "one-cycle". Throws UsageError.
Schedule parse_schedule(const std::string& text);

}  // namespace evener::training
