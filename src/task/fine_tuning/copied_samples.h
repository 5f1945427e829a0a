// The images that a new last layer is fitted to. Inside task/ only.
#pragma once

#include <cstddef>
#include <memory>

#include "data/open/samples.h"
#include "task/fine_tuning/linear_probe.h"

namespace evener::task {

/// Each training image as it is, followed by `copies` - 1 augmented copies of it, each augmented as in another epoch.
/// `data` and `options` must outlive the samples.
std::unique_ptr<data::Samples> copied_samples(const data::OpenedData& data, const LinearProbeOptions& options,
                                              std::size_t copies);

}  // namespace evener::task
