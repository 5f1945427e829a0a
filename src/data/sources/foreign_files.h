// Recognises data that evener doesn't read as it is, to say what to do with it.
#pragma once

#include <filesystem>
#include <string>

namespace evener::data {

/// A sentence that says what the file is, or what lies in the folder and in those directly below, and what to do with
/// it: CIFAR's Python version, archives, tables of other programs, IDX or CIFAR files one folder deeper. Empty where
/// nothing is known.
std::string foreign_files_hint(const std::filesystem::path& location);

}  // namespace evener::data
