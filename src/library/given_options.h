// From options by name to those of a job.
#pragma once

#include <vector>

#include "evener/options.h"
#include "job/options/option_set.h"

namespace evener::library {

/// The options that another program can give: without those about a terminal, a command line and other hosts.
job::OptionSet givable(job::OptionSet options);

/// Throws UsageError for an unknown name with the nearest, and for words that are no value.
void give(const job::OptionSet& options, const Options& given);

/// Throws UsageError for wrong values, for values that don't go together, and where a required one is missing.
void check(const job::OptionSet& options);

std::vector<OptionDescription> described(const job::OptionSet& options);

}  // namespace evener::library
