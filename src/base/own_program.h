// The program evener, as a file, for work that is done in processes of its own.
#pragma once

#include <filesystem>

namespace evener {

/// What is to be started for another process of evener: this process's own program, also where its file has been
/// replaced since; or, where another program uses the library, the one that is installed with the library. Throws Error
/// where there is none.
std::filesystem::path program_to_start();

/// Where that program lies, for a look at its file.
std::filesystem::path program_file();

}  // namespace evener
