// Describes a weights file whose metadata doesn't name its network.
#pragma once

#include <filesystem>

#include "job/description.h"
#include "weights/safetensors.h"

namespace evener::job {

/// A line of text about a file: what it is, in a column of its own, and its value.
std::string info_row(const char* what, const std::string& value);

/// The file's tensors, and the networks of the zoo that they fit.
Description tensors_info(const std::filesystem::path& path, const weights::SafetensorsFile& file);

}  // namespace evener::job
