// Known files of images that evener doesn't read as they are, to tell what they are.
#pragma once

#include <filesystem>
#include <string>

namespace evener::data {

/// What a file, or what lies in a folder and in those below it, is and what to do with it: CIFAR's Python version,
/// archives, tables of other programs, IDX or CIFAR files one folder deeper. Empty where nothing is known.
std::string foreign_files_hint(const std::filesystem::path& location);

}  // namespace evener::data
