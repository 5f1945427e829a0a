// Copies of files that are whole or not there.
#pragma once

#include <filesystem>

namespace evener {

/// Writes the content of `from` to `path` as write_file_atomically() does, but without syncing to the disk: a lost copy
/// can be made again. Keeps the file's permissions and modification time. Throws Error, which says how many bytes are
/// needed when the disk is full, and when `from` changed meanwhile.
void copy_file_atomically(const std::filesystem::path& from, const std::filesystem::path& path);

}  // namespace evener
