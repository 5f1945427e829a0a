// A folder of files that gets its final name only when it is complete.
#pragma once

#include <filesystem>
#include <string>

namespace evener::data {

/// Until finish() the folder has a temporary name beside its final place; without finish() it is removed with its
/// content.
class NewFolder {
 public:
  /// Throws Error if `target` exists and is not an empty folder, or nothing can be written beside it.
  explicit NewFolder(const std::filesystem::path& target);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Creates a folder inside, with its parents.
  void create(const std::filesystem::path& relative) const;
  /// Writes a file inside. Thread-safe.
  void write(const std::filesystem::path& relative, const std::string& content) const;
  /// Renames the folder to its final name.
  void finish();

 private:
  std::filesystem::path target_, path_;
};

}  // namespace evener::data
