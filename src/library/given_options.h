// Options by name, as other programs give them, for a job's options.
#pragma once

#include <vector>

#include "evener/options.h"
#include "job/infer/infer_flags.h"
#include "job/options/option.h"

namespace evener::library {

/// The options that make sense in a library call: without those about terminals, command lines and other hosts.
job::OptionSet givable(job::OptionSet options);

/// Sets the given options. Throws UsageError for an unknown name, suggesting the most similar one, and for text that is
/// no valid value.
void give(const job::OptionSet& options, const Options& given);

/// Throws UsageError for wrong values, for options that exclude each other, and for missing required ones.
void check(const job::OptionSet& options);

std::vector<OptionDescription> described(const job::OptionSet& options);

/// The options of a LoadedNetwork: the same as `evener infer` has for the network and the placement.
struct LoadFlags {
  job::InferModelFlags model;
  job::InferPlacementFlags placement;

  job::OptionSet options() { return {&model, &placement}; }
};

}  // namespace evener::library
