// What other programs give: options by name for a job, and images in their memory as samples for a network.
#pragma once

#include <memory>
#include <vector>

#include "data/open/samples.h"
#include "data/preprocess.h"
#include "evener/loaded_network.h"
#include "evener/options.h"
#include "infer/options.h"
#include "options/option.h"

namespace evener::library {

/// The options that make sense in a library call: without those about terminals, command lines and other hosts.
OptionSet givable(OptionSet options);

/// Sets the given options. Throws UsageError for an unknown name, suggesting the most similar one, and for text that is
/// no valid value.
void give(const OptionSet& options, const Options& given);

/// Throws UsageError for wrong values, for options that exclude each other, and for missing required ones.
void check(const OptionSet& options);

std::vector<OptionDescription> described(const OptionSet& options);

/// The options of a LoadedNetwork: the same as `evener infer` has for the network and the placement.
struct LoadFlags {
  inference::InferModelFlags model;
  inference::InferPlacementFlags placement;

  OptionSet options() { return {&model, &placement}; }
};

/// Pictures, which are preprocessed by `steps` like image files. They aren't copied, so they must stay valid while the
/// samples are in use. Throws Error for an impossible shape, wrong channels or a null pointer.
std::unique_ptr<data::Samples> picture_span_samples(const PictureSpan& pictures, const data::Preprocessing& steps);

/// Values that are passed to the network unchanged; not copied either. Throws Error for an impossible shape, and unless
/// exactly one of the two pointers is set.
std::unique_ptr<data::Samples> value_samples(const SampleSpan& samples);

}  // namespace evener::library
