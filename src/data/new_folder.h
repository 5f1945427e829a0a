// A folder of files that appears under its name when it is complete.
#pragma once

#include <filesystem>
#include <string>

namespace evener::data {

/// Stands beside its later place under a temporary name, and goes away with its content unless it is given its name.
class NewFolder {
 public:
  /// Throws Error if `target` exists and is not an empty folder, or nothing can be written beside it.
  explicit NewFolder(const std::filesystem::path& target);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Creates a folder in it, and those above.
  void create(const std::filesystem::path& relative) const;
  /// Writes a file in it. Thread-safe.
  void write(const std::filesystem::path& relative, const std::string& content) const;
  /// Gives it its name.
  void finish();

 private:
  std::filesystem::path target_, path_;
};

}  // namespace evener::data
