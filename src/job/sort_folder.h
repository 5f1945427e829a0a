// What commands that sort photos into folders have in common.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace evener::job {

/// A folder's name for what is called so: without slashes and control characters, and not hidden. `name` isn't empty.
std::string folder_name(const std::string& name);

/// The folder of each name: folder_name(), and where that is another name's folder too, with a number behind it. Names
/// that need no change have theirs; "" has none.
std::map<std::string, std::string> folders_of(const std::vector<std::string>& names);

/// Throws UsageError where `out`, which --sort named, lies within one of the `photos`' folders: what is put there would
/// be taken for photos the next time.
void require_beside_photos(const std::filesystem::path& out, const std::vector<std::string>& photos);

/// Throws Error where nothing can be written into `out`, or, where it isn't there yet, beside where it would be. Makes
/// nothing.
void require_writable_place(const std::filesystem::path& out);

/// Marks a folder of photos that have no class, so that it is none when the sorted folder is trained on. Throws Error
/// where that can't be done.
void mark_as_no_class(const std::filesystem::path& folder);

/// A name for the photo that `is_taken` says no to: its own, or "a-2.jpg", "a-3.jpg", ...
template <class IsTaken>
std::string free_name(const std::filesystem::path& photo, const IsTaken& is_taken) {
  std::string name = photo.filename().string();
  for (int n = 2; is_taken(name); ++n) {
    name = photo.stem().string() + "-" + std::to_string(n) + photo.extension().string();
  }
  return name;
}

}  // namespace evener::job
