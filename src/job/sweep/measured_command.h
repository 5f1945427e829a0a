// The commands that leave a record of what they measured: those that a sweep can run.
#pragma once

#include <functional>
#include <string>

#include "job/options/option_set.h"

namespace evener::job {

/// One of them, with options that have no values yet.
struct MeasuredCommand {
  std::string name;
  OptionSet options;
  /// Gives values to options that weren't given, once the others have theirs; owns the options.
  std::function<void()> complete;
  /// Looks at what the options demand of this machine, before any work.
  std::function<void()> check;
};

/// Throws UsageError with the nearest name for one that there isn't.
MeasuredCommand measured_command(const std::string& name);

}  // namespace evener::job
