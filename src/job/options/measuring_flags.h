// Options about how work is measured.
#pragma once

#include "job/options/option.h"

namespace evener::job {

/// The option of every command that can time layers.
struct ProfileFlags : OptionGroup {
  ProfileFlags() : OptionGroup("Measuring") {}

  Option<std::string> profile{
      *this,
      {"--profile", "WHAT", "layers: when the work is done, time each layer in a pass of its own (docs/profile.md)"},
      "",
      {.one_of = {"", "layers"}, .suggestions = {"layers"}, .recorded = false, .in_plans = false, .inherited = false}};
};

/// The measuring options of a training.
struct MeasuringFlags : ProfileFlags {
  Option<std::string> trace{*this,
                            {"--trace", "FILE", "Write the phases as a Chrome trace"},
                            "",
                            {.recorded = false, .in_plans = false, .inherited = false}};
  Option<int> sample_interval_ms{*this,
                                 {"--sample-interval", "MILLISECONDS", "Between samples of CPU and memory"},
                                 500,
                                 {.recorded = false, .in_plans = false}};
  Option<double> plan_seconds{*this,
                              {"--plan-seconds", "SECONDS", "How long --on auto may measure"},
                              15,
                              {.range = more_than_zero(), .recorded = false, .in_plans = false}};
};

}  // namespace evener::job
