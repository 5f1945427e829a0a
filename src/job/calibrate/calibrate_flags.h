// The options of `evener calibrate`.
#pragma once

#include <optional>
#include <string>

#include "data/locations.h"
#include "job/inference/inference_flags.h"
#include "job/options/calibration_flags.h"

namespace evener::job {

/// The images that calibrate, and that judge what came of it.
struct CalibrateDataFlags : UnknownFlags {
  Option<std::string> data{
      *this,
      {"--data", "DATA",
       "Labelled images, as train takes them: the validation part calibrates, the test part judges, "
       "and of the training part features are kept (default: the data of the run)"},
      "",
      {.joint = data::kLocationJoint}};
  Option<std::string> unlike{
      *this, {"--unlike", "DIR", "Pictures of other things: how many of them are called unknown is told"}};
  Option<std::int64_t> images{
      *this, {"--images", "N", "Most images of each part"}, 10000, {.range = from_to(30, 1000000)}};
  Option<std::string> split{
      *this, {"--split", "TRAIN/VALIDATION/TEST", "Percent, of data that comes undivided (default: as the run's)"}};
  Option<std::optional<std::int64_t>> seed{
      *this, {"--seed", "N", "Of the split (default: the run's)"}, {}, {.range = zero_or_more()}};
};

struct CalibrateOutputFlags : OptionGroup {
  CalibrateOutputFlags() : OptionGroup("Output") {}

  Option<std::string> json{
      *this, {"--json", "FILE", "Write the figures there too; - is stdout"}, "", {.recorded = false}};
  Option<bool> quiet{*this, {"--quiet", "", "No progress"}, false, {.recorded = false}};
};

struct CalibrateFlags {
  InferModelFlags model;
  CalibrateDataFlags data;
  InferPlacementFlags placement;
  CalibrateOutputFlags output;

  OptionSet options();
};

}  // namespace evener::job
