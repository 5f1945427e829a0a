// How well a detector that is being trained finds the boxes of validation and test images.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "network/network.h"
#include "parallel/replica.h"
#include "task/detect/average_precision.h"

namespace evener::task {

/// Judges a detector's outputs with the limits that evaluations have: boxes of a confidence of 0.001 on, 300 of them on
/// an image. `classes`: of the data.
std::unique_ptr<parallel::OutputJudge> make_detection_judge(const network::Network& network, std::size_t classes);

/// The verdicts of all replicas' judges put together.
DetectionQuality quality_of_verdicts(std::span<const std::string> verdicts);

}  // namespace evener::task
