// Options about how a training is measured.
#pragma once

#include "cli/options/option.h"

namespace evener::cli {

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
  Option<double> plan_seconds{*this,
                              {"--plan-seconds", "SECONDS", "How long --on auto may measure"},
                              15,
                              {.range = more_than_zero(), .recorded = false, .in_plans = false}};
};

}  // namespace evener::cli
