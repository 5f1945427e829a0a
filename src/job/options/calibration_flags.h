// Options about the probabilities of a classifier, and about what it calls unknown.
#pragma once

#include "job/options/option.h"

namespace evener::job {

/// The option of all commands that calibrate.
struct UnknownFlags : OptionGroup {
  UnknownFlags() : OptionGroup("Calibration") {}

  Option<double> unknown{
      *this,
      {"--unknown", "SHARE",
       "Of images like those of the training, how many may be called unknown, from 0 to 0.5; 0: nothing is unknown"},
      0.05,
      {.range = from_to(0, 0.5), .in_plans = false}};
};

/// The options of a training.
struct TrainCalibrationFlags : UnknownFlags {
  Option<bool> no_calibration{*this,
                              {"--no-calibration", "",
                               "Leave a classifier's probabilities as they are learnt, and call nothing unknown; "
                               "'evener calibrate' does both later"},
                              false,
                              {.in_plans = false}};
};

}  // namespace evener::job
