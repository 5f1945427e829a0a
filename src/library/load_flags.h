// The options of a LoadedNetwork: those of `evener infer` about the network and where it computes.
#pragma once

#include "job/infer/infer_flags.h"

namespace evener::library {

struct LoadFlags {
  job::InferModelFlags model;
  job::InferPlacementFlags placement;

  job::OptionSet options() { return {&model, &placement}; }
};

}  // namespace evener::library
