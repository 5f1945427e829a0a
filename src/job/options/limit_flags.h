// Options that limit the frequency and the power of the hardware for the time of a run, of every command that measures.
#pragma once

#include "job/options/option.h"
#include "measure/limits/limit_options.h"
#include "placement/plan.h"

namespace evener::job {

struct LimitFlags : OptionGroup {
  LimitFlags() : OptionGroup("Limits") {}

  Option<std::string> frequency{
      *this,
      {"--frequency", "FREQUENCY", "Highest frequency of the CPUs for this run, such as 2.0GHz (docs/measuring.md)"},
      "",
      {.in_plans = false}};
  Option<std::string> power{*this,
                            {"--power-limit", "POWER",
                             "Power limit of each GPU in use for this run, such as 250W; cpu=65W: of each CPU package, "
                             "by powercap; gpu=250W+cpu=65W: of both"},
                            "",
                            {.in_plans = false}};

  /// `plan`: names the GPUs. Throws UsageError if a GPU's power is to be limited and the run uses none of NVIDIA's, and
  /// for a run on several hosts.
  measure::LimitOptions options(const placement::Plan& plan) const;
  /// Throws UsageError if a limit was given: it would be set on one host alone.
  void refuse_several_hosts() const;

 private:
  void check_together() const override;
};

}  // namespace evener::job
