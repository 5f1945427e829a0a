// A folder for a while.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "base/files.h"

namespace evener::measure {

/// A folder that goes, with all that is in it, when this does.
class PassingFolder {
 public:
  explicit PassingFolder(std::filesystem::path path) : path_(std::move(path)) {}
  ~PassingFolder() {
    std::error_code none;
    std::filesystem::remove_all(path_, none);
  }
  PassingFolder(const PassingFolder&) = delete;
  PassingFolder& operator=(const PassingFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  const std::filesystem::path path_;
};

/// Makes a folder for temporary files, whose name begins with `name`. Throws Error.
inline std::filesystem::path new_temporary_folder(const std::string& name) {
  std::string path = (std::filesystem::temp_directory_path() / (name + "-XXXXXX")).string();
  if (mkdtemp(path.data()) == nullptr) fail_to_write(path, errno);
  return path;
}

}  // namespace evener::measure
