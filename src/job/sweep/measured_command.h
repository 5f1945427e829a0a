// The commands that a sweep can run: those that write a record of their measurements.
#pragma once

#include <functional>
#include <string>

#include "job/options/option.h"

namespace evener::job {

/// One of these commands, with options that have no values yet.
struct MeasuredCommand {
  std::string name;
  OptionSet options;
  /// Sets options that weren't given, by those that were; owns the options.
  std::function<void()> complete;
  /// Checks whether this machine can do what the options ask for, before any work.
  std::function<void()> check;
};

/// Throws UsageError with the nearest name for an unknown command.
MeasuredCommand measured_command(const std::string& name);

}  // namespace evener::job
