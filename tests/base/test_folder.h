// Folders and disks for tests of files. Header only, so that the tests of every room can use it.
#pragma once

#include <stdlib.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace evener::test {

/// An empty folder that goes away with its owner.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "evener-test-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("can't make a temporary folder");
    path_ = name;
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// A small disk of its own (tmpfs) mounted on a new folder; needs root.
class SmallDisk {
 public:
  /// `options` of mount, e.g. "size=256k", or "ro" for a read-only one.
  explicit SmallDisk(const std::string& options) {
    const bool read_only = options == "ro";
    const unsigned long flags = read_only ? MS_RDONLY : 0;
    if (mount("tmpfs", folder_.path().c_str(), "tmpfs", flags, read_only ? nullptr : options.c_str()) != 0) {
      problem_ = std::string("mounting a tmpfs needs root: ") + std::strerror(errno);
    }
  }
  ~SmallDisk() {
    if (problem_.empty()) umount2(folder_.path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  /// Why it could not be mounted; "" = it is.
  const std::string& problem() const { return problem_; }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TestFolder folder_;
  std::string problem_;
};

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::filesystem::remove(path);  // cutting an existing file short would wait for the disk
  std::ofstream(path, std::ios::binary) << text;
}

/// How many files lie directly in a folder.
inline int file_count(const std::filesystem::path& folder) {
  return static_cast<int>(
      std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

}  // namespace evener::test
