// Photos put into a folder for each class that a network finds on them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace evener::job {

enum class SortBy { kLink, kCopy };

/// Puts photos into folders, and never moves or removes any: a photo that is in `out` already, as a link or a copy in
/// any folder, stays there, so that users can move wrongly sorted photos by hand and sort further ones later.
class PhotoSorter {
 public:
  /// Reads the content of `out`, which the first add() creates if need be. Throws UsageError where `out` is no folder,
  /// or lies within one of the folders among `photos`.
  PhotoSorter(std::filesystem::path out, SortBy by, const std::vector<std::string>& photos);

  /// Puts a photo into the folder named `folder` (see folder_name()). Throws Error where that is impossible.
  void add(const std::filesystem::path& photo, const std::string& folder);

  const std::filesystem::path& out() const { return out_; }
  /// How many photos were put into each folder.
  const std::map<std::string, std::size_t>& added() const { return added_; }
  /// The number of photos that were in `out` before.
  std::size_t there() const { return there_; }

 private:
  bool is_there(const std::filesystem::path& photo) const;
  /// The incomplete copy of `photo` that an interrupted run left, to be completed where it lies; absent if there is
  /// none.
  std::optional<std::filesystem::path> cut_copy_of(const std::filesystem::path& photo) const;

  std::filesystem::path out_;
  SortBy by_;
  std::multimap<std::string, std::filesystem::path> files_;  // files in the folders of `out`, by the name of the photo
  std::map<std::string, std::size_t> added_;
  std::size_t there_ = 0;
};

}  // namespace evener::job
