// Finds the class and the part of each image file of a folder, by paths alone.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/sources/folder_walk.h"
#include "data/sources/source.h"

namespace evener::data {

struct ListedImage {
  std::filesystem::path path;
  std::int32_t label = 0;
  Part part = Part::kUndivided;
};

struct FolderListing {
  std::vector<std::string> classes;  // sorted
  std::vector<ListedImage> images;   // sorted by part, class and path
  std::vector<std::string> notes;
};

/// Lists all image files below a folder that fit the patterns of `classes`, undivided. Throws Error naming both classes
/// if a file fits two, and the class if no file fits it.
FolderListing list_classes(const std::filesystem::path& folder, const std::vector<ClassFiles>& classes);

/// Lists a folder as open_data describes it. Throws Error if there are no class folders, no image files, a class in
/// val/ or test/ that train/ lacks, or folders of which nobody can tell whether they are parts or classes.
FolderListing list_image_folder(const std::filesystem::path& folder);

/// Goes down from `folder` as long as there is only a single folder inside, and returns the innermost, which may hold
/// the class folders; `folder` itself where it doesn't have a single folder.
std::filesystem::path innermost_single(const std::filesystem::path& folder);

/// The folders in `folder` whose names stand for a part (train, val, test) and that have image files anywhere below.
std::vector<std::string> part_folders_with_images(const std::filesystem::path& folder);

/// True if at least two classes of a folder, listed as by list_image_folder, have image files.
bool has_class_folders(const std::filesystem::path& folder);

}  // namespace evener::data
