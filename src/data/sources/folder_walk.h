// Lists folders and the files anywhere below them, in the same way for all sources of files.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "data/passed_over.h"

namespace evener::data {

struct FolderEntries {
  std::vector<std::filesystem::path> folders, images;  // sorted
};

/// The folders and image files directly in a folder, without those that `passed_over` skips. Throws Error if it can't
/// be listed.
FolderEntries list_folder(const std::filesystem::path& folder, PassedOver& passed_over);

/// Files anywhere below a folder, sorted by path. Hidden names and system folders are passed over; links to folders are
/// followed, each folder once. Throws Error if a folder can't be listed.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder,
                                               const std::function<bool(const std::filesystem::path&)>& is_wanted);
/// The same; `passed_over` remembers what was skipped.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder,
                                               const std::function<bool(const std::filesystem::path&)>& is_wanted,
                                               PassedOver& passed_over);

/// Whether there is such a file anywhere below a folder, as files_below() finds them.
bool has_file_below(const std::filesystem::path& folder,
                    const std::function<bool(const std::filesystem::path&)>& is_wanted);

}  // namespace evener::data
