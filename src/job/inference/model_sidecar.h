// What stands beside the file of a network: how it wants its images, in options of `evener infer`.
//   model.onnx      model.toml:   size = "224x224"    crop = "centre"    normalize = "0.5/0.5"    labels = "names.txt"
#pragma once

#include "job/inference/inference_flags.h"

namespace evener::job {

/// Gives those options of `flags` that were not given the values in the .toml file that is called as the network's file
/// (MODEL, or else --weights), if there is one. Paths in it begin at its folder. Throws UsageError naming file, line
/// and key.
void take_sidecar(InferModelFlags& flags);

}  // namespace evener::job
