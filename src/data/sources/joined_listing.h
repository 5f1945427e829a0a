// Joins several folders of classes into one listing.
#pragma once

#include <filesystem>
#include <vector>

#include "data/sources/folder_listing.h"

namespace evener::data {

/// Lists the folders, each with `classes` where there are any, and joins their classes by name and their parts. What
/// comes undivided beside a folder with parts is for training. Of a file that is in several the last folder's class
/// counts: its images come first.
FolderListing list_folders(const std::vector<std::filesystem::path>& folders, const std::vector<ClassFiles>& classes);

}  // namespace evener::data
