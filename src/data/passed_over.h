// Recognises folders among people's images that are not part of the data: those of file servers, operating systems and
// programs, and those that --sort of `evener infer` and `evener faces` made for photos without a class.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace evener::data {

/// True for the names of folders with thumbnails, dustbins, snapshots and the like ("@eaDir", "#recycle",
/// "System Volume Information", ".thumbnails", ...).
bool is_system_folder(const std::filesystem::path& path);

/// True for what a walk through folders skips: system folders, and names that begin with a dot. A folder that the user
/// named is walked through whatever its name.
bool is_passed_over(const std::filesystem::path& path);

/// A folder that holds a file of this name is no class of the data, whatever the folder's name.
constexpr const char* kNoClassMark = ".evener-no-class";

/// Decides what a walk through folders skips, and remembers it for notes to the user.
class PassedOver {
 public:
  PassedOver() = default;
  /// Folders whose names occur in one of the user's patterns are not skipped.
  explicit PassedOver(const std::vector<std::string>& patterns);

  /// As the function of the same name, but for the folders in patterns; and true for RAW files beside which the
  /// camera's JPEG or HEIC file of the same shot lies, where no pattern asks for RAW files: one shot is one image, and
  /// its second file must not come into another part of the data.
  bool is_passed_over(const std::filesystem::path& path);
  /// Whether a folder among class folders has kNoClassMark.
  bool is_no_class(const std::filesystem::path& folder);

  /// Sentences on how many image files were skipped, and where; empty where none were.
  std::vector<std::string> notes() const;

 private:
  std::set<std::string> named_;
  bool is_raw_asked_for_ = false;
  std::set<std::filesystem::path> system_folders_, no_classes_, raw_files_;
};

/// The notes for everything below `folder`.
std::vector<std::string> passed_over_below(const std::filesystem::path& folder);

}  // namespace evener::data
