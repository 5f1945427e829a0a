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

/// Only ever adds: a photo that is in `out` already, by a link or a copy in any of its folders, stays where it is, so
/// that people can put right what was sorted wrongly, and later photos come to the others.
class PhotoSorter {
 public:
  /// Looks at what `out` has; it is made by the first add(). Throws UsageError where it is no folder, or lies within
  /// one of the folders among `photos`.
  PhotoSorter(std::filesystem::path out, SortBy by, const std::vector<std::string>& photos);

  /// Puts a photo into the folder of that name (folder_name()). Throws Error where that can't be done.
  void add(const std::filesystem::path& photo, const std::string& folder);

  const std::filesystem::path& out() const { return out_; }
  /// How many photos were put into each folder.
  const std::map<std::string, std::size_t>& added() const { return added_; }
  /// Photos that were there before.
  std::size_t there() const { return there_; }

 private:
  bool is_there(const std::filesystem::path& photo) const;
  /// A copy that was cut short, which is made whole where it lies.
  std::optional<std::filesystem::path> cut_copy_of(const std::filesystem::path& photo) const;

  std::filesystem::path out_;
  SortBy by_;
  std::multimap<std::string, std::filesystem::path> files_;  // in the folders of `out`: by the name of the photo
  std::map<std::string, std::size_t> added_;
  std::size_t there_ = 0;
};

}  // namespace evener::job
