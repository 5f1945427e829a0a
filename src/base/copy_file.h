// Copies of files that are whole or not there.
#pragma once

#include <filesystem>

namespace evener {

/// As write_file_atomically() with the content of another file, but not synced to the disk: a copy can be made again.
/// The file's rights and time go with it. Throws Error that tells how many bytes are needed, and where `from` changed
/// meanwhile.
void copy_file_atomically(const std::filesystem::path& from, const std::filesystem::path& path);

}  // namespace evener
