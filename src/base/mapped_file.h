// A file in the address space: read as it is touched, shared with every process that maps it too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace evener {

/// Maps a whole file for reading. A file that is cut short while it is mapped ends the process (SIGBUS), so files are
/// replaced by renaming, as write_file_atomically does.
class MappedFile {
 public:
  /// Throws Error: missing, a folder, no permission, empty.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::uint8_t> bytes() const { return {begin_, size_}; }

 private:
  const std::uint8_t* begin_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace evener
