// The options of a LoadedNetwork: the same as `evener infer` has for the network and the placement.
#pragma once

#include "job/infer/infer_flags.h"

namespace evener::library {

struct LoadFlags {
  job::InferModelFlags model;
  job::InferPlacementFlags placement;

  job::OptionSet options() { return {&model, &placement}; }
};

}  // namespace evener::library
