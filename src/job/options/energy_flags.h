// Options about the energy of a run, of every command that measures one.
#pragma once

#include "job/options/option.h"
#include "measure/sensors/open_sensors.h"
#include "placement/plan.h"

namespace evener::job {

struct EnergyFlags : OptionGroup {
  EnergyFlags() : OptionGroup("Energy") {}

  Option<double> idle_s{*this,
                        {"--idle", "SECONDS", "Measure the idle power before, and tell energy without it too"},
                        0,
                        {.range = from_to(0, 600), .recorded = false, .in_plans = false, .inherited = false}};
  Option<std::vector<std::string>> meters{
      *this,
      {"--meter", "SOURCE", "A meter of your own, which a command reads: run:COMMAND#VALUE=W (docs/measuring.md)"},
      {},
      {.recorded = false, .inherited = false}};
  Option<std::string> assumed{*this,
                              {"--assume-power", "POWERS",
                               "For what no sensor measures, such as cpu=65W,idle=20W,gpu=150W: the energy is then "
                               "called estimated"},
                              "",
                              {.has_commas = true}};

  /// `plan`: names the GPUs whose energy is measured.
  measure::EnergyOptions options(const placement::Plan& plan) const;

 private:
  void check_together() const override;
};

}  // namespace evener::job
