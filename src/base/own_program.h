// The program evener as work in a process of its own starts it, and what tells one build of it from another.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace evener {

/// The path to start another process of evener by: that of this process's own program, which also works when its file
/// has been replaced since; or, where another program uses the library, that of the program installed with the library.
/// Throws Error where there is none.
std::filesystem::path program_to_start();

/// The file of that program, to look at (program_to_start() may be a link in /proc).
std::filesystem::path program_file();

/// The program, its library and its modules, the modules sorted. Throws Error where the program isn't installed with
/// the library.
std::vector<std::filesystem::path> program_files();

/// A hash of the contents of these files on disk, as 16 hexadecimal digits. Throws Error as program_files() does.
std::string program_identity();

}  // namespace evener
