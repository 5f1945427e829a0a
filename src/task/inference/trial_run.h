// Runs the network of another program's file on one plain image, to see what its outputs are like.
#pragma once

#include <cstdint>

#include "base/tensor.h"
#include "engine/model_file.h"

namespace evener::task {

/// The outputs for an image of plain grey, without the batch. In a child process, where forks are allowed: this one can
/// fork others afterwards. `batch`: that of the network. Throws Error.
TensorMap trial_run(const engine::ModelFile& file, engine::ModelInput input, std::int64_t batch);

}  // namespace evener::task
