// The images that a new last layer is fitted to. Inside task/ only.
#pragma once

#include <cstddef>
#include <memory>

#include "data/open/samples.h"
#include "task/fine_tuning/linear_probe.h"

namespace evener::task {

/// The training images as they are, each followed by `copies` - 1 that are changed as an epoch of training would change
/// them, each copy as another epoch. `data` and `options` outlive them.
std::unique_ptr<data::Samples> copied_samples(const data::OpenedData& data, const LinearProbeOptions& options,
                                              std::size_t copies);

}  // namespace evener::task
