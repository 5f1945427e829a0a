// What tells one build of this program from another: its files and their contents.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace evener {

/// The program, its library and its modules, the modules sorted. Throws Error where the program isn't installed with
/// the library.
std::vector<std::filesystem::path> program_files();

/// A hash of the contents of these files on disk, as 16 hexadecimal digits. Throws Error as program_files() does.
std::string program_identity();

}  // namespace evener
