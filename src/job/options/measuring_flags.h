// Options about how a training is measured.
#pragma once

#include "job/options/option.h"
#include "job/options/profile_option.h"

namespace evener::job {

struct MeasuringFlags : OptionGroup {
  MeasuringFlags() : OptionGroup("Measuring") {}

  Option<std::string> trace{*this,
                            {"--trace", "FILE", "Write the phases as a Chrome trace"},
                            "",
                            {.recorded = false, .in_plans = false, .inherited = false}};
  Option<int> sample_interval_ms{*this,
                                 {"--sample-interval", "MILLISECONDS", "Between samples of CPU and memory"},
                                 500,
                                 {.recorded = false, .in_plans = false}};
  Option<std::string> profile{*this, profile_words(), "", profile_rules()};
  Option<double> plan_seconds{*this,
                              {"--plan-seconds", "SECONDS", "How long --on auto may measure"},
                              15,
                              {.range = more_than_zero(), .recorded = false, .in_plans = false}};
};

}  // namespace evener::job
