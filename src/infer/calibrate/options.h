// Options about probabilities that hold and about what is unknown.
#pragma once

#include "options/option.h"

namespace evener::inference {

/// The option of all commands that calibrate.
struct UnknownFlags : OptionGroup {
  UnknownFlags() : OptionGroup("Calibration") {}

  Option<double> unknown{
      *this, "--unknown SHARE", 0.05, within(from_to(0, 0.5)).not_in_plans(),
      "Of images like those of the training, how many may be called unknown, from 0 to 0.5; 0: nothing is unknown"};
};

/// The options of a training.
struct TrainCalibrationFlags : UnknownFlags {
  Option<bool> no_calibration{*this, "--no-calibration", rules().not_in_plans(),
                              "Leave a classifier's probabilities as they are learnt, and call nothing unknown; "
                              "'evener calibrate' does both later"};
};

}  // namespace evener::inference
