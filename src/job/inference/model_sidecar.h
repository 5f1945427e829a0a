// A .toml file beside the file of a network that says how it takes its images, as options of `evener infer`.
//   model.onnx      model.toml:   size = "224x224"    crop = "centre"    normalize = "0.5/0.5"    labels = "names.txt"
#pragma once

#include "job/inference/inference_flags.h"

namespace evener::job {

/// Sets options of `flags` that were not given from the .toml file with the name of the network's file (MODEL, or else
/// --weights), if there is one. Paths in it are relative to its folder. Throws UsageError naming file, line and key.
void take_sidecar(InferModelFlags& flags);

}  // namespace evener::job
