// Annotations of images in formats that aren't read.
#pragma once

#include <filesystem>
#include <string>

namespace evener::data {

/// A sentence that names such a file in a folder, or in one of the folders in it, and what to do; "" if there is none.
/// A few files are looked at, and their beginnings alone.
std::string other_annotations(const std::filesystem::path& folder);

}  // namespace evener::data
