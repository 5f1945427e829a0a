// Options about what a placement is chosen by.
#pragma once

#include <string>

#include "job/options/option.h"
#include "plan/goal.h"

namespace evener::job {

struct GoalFlags : OptionGroup {
  GoalFlags() : OptionGroup("Goal") {}

  Option<std::string> objective{
      *this,
      {"--for", "GOAL",
       "What --on auto chooses by: time, energy, edp (energy x time), or cost (default: time, "
       "with --deadline energy)"},
      "",
      {.one_of = {"", "time", "energy", "edp", "cost"},
       .suggestions = {"time", "energy", "edp", "cost"},
       .inherited = false}};
  Option<std::optional<double>> deadline{*this,
                                         {"--deadline", "MINUTES",
                                          "With --on auto: only what trains all epochs in this time, and of that the "
                                          "most frugal"},
                                         {},
                                         {.range = more_than_zero(), .inherited = false}};
  Option<std::optional<double>> budget{*this,
                                       {"--budget", "WH",
                                        "With --on auto: only what trains all epochs with so many watt-hours, and of "
                                        "that the fastest"},
                                       {},
                                       {.range = more_than_zero(), .inherited = false}};
  Option<std::string> price{*this,
                            {"--price", "PRICES",
                             "For --for cost, what a kilowatt-hour and an hour of the machine cost, such as "
                             "kwh=0.30,hour=1.2, in any currency"},
                            "",
                            {.has_commas = true, .inherited = false}};

  /// Whether anything was asked of the choice.
  bool given() const { return objective.given() || deadline.given() || budget.given() || price.given(); }
  /// `epochs`: of the training that the limits are for.
  plan::Goal goal(int epochs) const;

 private:
  void check_together() const override;
};

}  // namespace evener::job
