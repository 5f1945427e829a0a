// A file descriptor that closes itself, reading through it, and messages for the errors of its system calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

namespace evener {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  /// Closes now; returns 0 or the errno of close().
  int close();

 private:
  int fd_ = -1;
};

/// Both ends of a new pipe, which programs that this process becomes don't inherit. Throws Error.
struct Pipe {
  Pipe();

  Descriptor reader, writer;
};

/// Opens a regular file for reading. Throws Error: missing, a folder, no permission.
Descriptor open_for_reading(const std::filesystem::path& path);

/// Size of an open file in bytes.
std::uint64_t size_of(const Descriptor& file, const std::filesystem::path& path);

/// Reads up to `count` bytes at `offset` into `target`; returns how many were read, fewer only at the file's end.
/// Throws Error.
std::size_t read_at(const Descriptor& file, const std::filesystem::path& path, std::uint64_t offset, void* target,
                    std::size_t count);

/// What `error_number` means for `path` and what to do: "the disk is full (1.2 MB free); free some space or ...".
std::string file_error_text(int error_number, const std::filesystem::path& path);

/// A file in the address space: read as it is touched, shared with every process that maps it too.
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
