// Common parts of the commands that sort photos into folders.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace evener::data {

/// Makes a folder's name of the name of a class or person: without slashes and control characters, and not hidden.
/// `name` must not be empty.
std::string folder_name(const std::string& name);

/// The folder of each name: folder_name(), with a number behind it where another name has that folder already. Names
/// that need no change come first and keep theirs; "" has no folder.
std::map<std::string, std::string> folders_of(const std::vector<std::string>& names);

/// Throws UsageError where `out`, which --sort named, lies within one of the `photos`' folders: the next run would take
/// the sorted photos for input.
void require_beside_photos(const std::filesystem::path& out, const std::vector<std::string>& photos);

/// Throws Error where `out`, which `option` named, can't be written to, or if it doesn't exist, can't be created.
/// Creates nothing.
void require_writable_place(const std::string& option, const std::filesystem::path& out);

/// Marks a folder whose photos have no class (data::kNoClassMark), so that a training on the sorted folder doesn't take
/// it for a class. Throws Error where the mark can't be written.
void mark_as_no_class(const std::filesystem::path& folder);

/// A free name for the photo: its own, or "a-2.jpg", "a-3.jpg", ...; the first for which `is_taken` is false.
template <class IsTaken>
std::string free_name(const std::filesystem::path& photo, const IsTaken& is_taken) {
  std::string name = photo.filename().string();
  for (int n = 2; is_taken(name); ++n) {
    name = photo.stem().string() + "-" + std::to_string(n) + photo.extension().string();
  }
  return name;
}

}  // namespace evener::data
