// Writes a dataset as an image folder, for other software and for looking at.
#pragma once

#include <filesystem>

#include "data/dataset.h"

namespace evener::data {

/// Writes every sample as PNG to <folder>/<class>/<sample>.png. The folder must not exist or be empty; it appears when
/// it is complete. Throws Error with the path and the reason.
void write_image_folder(const Dataset& dataset, const std::filesystem::path& folder, int threads);

}  // namespace evener::data
