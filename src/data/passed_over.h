// What lies among people's images and is none of them: the folders of file servers, systems and programs, and those
// that sorting made for what has no class.
#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace evener::data {

/// True for the names of folders with thumbnails, dustbins, snapshots and the like ("@eaDir", "#recycle",
/// "System Volume Information", ".thumbnails", ...).
bool is_system_folder(const std::filesystem::path& path);

/// True for what no walk through somebody's folders looks at: system folders, and names that begin with a dot. A folder
/// that was named itself is walked through whatever its name is.
bool is_passed_over(const std::filesystem::path& path);

/// A folder with such a file is no class of data, whatever its name is.
constexpr const char* kNoClassMark = ".evener-no-class";

/// Decides what a walk passes over, and remembers it to be told.
class PassedOver {
 public:
  PassedOver() = default;
  /// Folders whose names stand in one of the patterns are read.
  explicit PassedOver(const std::vector<std::string>& patterns);

  /// As the function of that name.
  bool is_passed_over(const std::filesystem::path& path);
  /// Whether a folder of classes has that mark.
  bool is_no_class(const std::filesystem::path& folder);

  /// How many image files were passed over, and where; empty where there are none.
  std::vector<std::string> notes() const;

 private:
  std::set<std::string> named_;
  std::set<std::filesystem::path> system_folders_, no_classes_;
};

/// The notes for all that lies below a folder.
std::vector<std::string> passed_over_below(const std::filesystem::path& folder);

}  // namespace evener::data
