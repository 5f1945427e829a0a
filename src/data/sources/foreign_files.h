// Recognises data and annotations that evener doesn't read as they are, to say what to do with them.
#pragma once

#include <filesystem>
#include <string>

namespace evener::data {

/// A sentence that says what the file is, or what lies in the folder and in those directly below, and what to do with
/// it: CIFAR's Python version, archives, tables of other programs, IDX or CIFAR files one folder deeper. Empty where
/// nothing is known.
std::string foreign_files_hint(const std::filesystem::path& location);

/// A sentence that names a file with annotations of another tool and what to export instead: the file at `location`, or
/// one in that folder or directly below. Empty where there is none. Reads only the beginnings of a few files.
std::string other_annotations(const std::filesystem::path& location);

}  // namespace evener::data
