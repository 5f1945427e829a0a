// Images of one part of the data that are also in another, by their files. Inside task/ only.
#pragma once

#include <vector>

#include "data/open_data.h"
#include "task/train.h"

namespace evener::task {

/// The validation and test images of a classifier that are among its training images too. None are looked for where
/// pixels are not all in memory: to read them again could take as long as an epoch.
std::vector<CopiedFiles> copied_files(const data::OpenedData& data, int threads);

}  // namespace evener::task
