// Photos sorted into a folder for each person, by links.
#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace evener::job {

/// A photo and the folders of the persons on it; without any it goes into "unknown".
struct SortedPhoto {
  std::filesystem::path file;
  std::set<std::string> persons;
};

/// The name of a person's folder: the person's name, or where that is empty "person-3" for number 2.
std::string person_folder(int person, const std::string& name);

/// Throws UsageError where `out` can't be sorted into: it holds anything that sort_photos() hasn't made, or lies within
/// one of the `photos`' folders, where its links would be taken for photos the next time.
void check_sort_folder(const std::filesystem::path& out, const std::vector<std::string>& photos);

/// Makes `out` a folder that has a folder of symbolic links to the photos for each person, and nothing else: links of
/// an earlier time that are no longer right are taken away. Returns the number of links. Throws UsageError where `out`
/// holds anything else, and Error where a link can't be made.
std::size_t sort_photos(const std::filesystem::path& out, const std::vector<SortedPhoto>& photos);

}  // namespace evener::job
