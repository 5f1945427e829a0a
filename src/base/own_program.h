// Finds the file of the program evener, for work that runs in a process of its own.
#pragma once

#include <filesystem>

namespace evener {

/// The path to start another process of evener by: that of this process's own program, which also works when its file
/// has been replaced since; or, where another program uses the library, that of the program installed with the library.
/// Throws Error where there is none.
std::filesystem::path program_to_start();

/// The file of that program, to look at (program_to_start() may be a link in /proc).
std::filesystem::path program_file();

}  // namespace evener
