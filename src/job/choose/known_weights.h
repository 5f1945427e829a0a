// Which network of the zoo a file of weights is of.
#pragma once

#include <filesystem>
#include <string>

namespace evener::job {

/// The network whose weights are in `file`: as the file says, or by the names and shapes of its tensors; where
/// `for_boxes`, of a classifier the detector that is built on it. Throws Error where the file can't be read, and
/// UsageError where the network isn't known.
std::string network_of_weights(const std::filesystem::path& file, bool for_boxes);

/// The detector that is built on a classifier of the zoo; "" = none is.
std::string detector_on(const std::string& classifier);

}  // namespace evener::job
