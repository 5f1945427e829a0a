// Lists folders and the files anywhere below them, in the same way for all sources of files, and reads parts and
// classes from the names of folders and files.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/passed_over.h"
#include "data/sources/source.h"

namespace evener::data {

struct FolderEntries {
  std::vector<std::filesystem::path> folders, images;  // sorted
};

/// The folders and image files directly in a folder, without those that `passed_over` skips. Throws Error if it can't
/// be listed.
FolderEntries list_folder(const std::filesystem::path& folder, PassedOver& passed_over);

/// What lies directly in a folder and is wanted, sorted; nothing where it can't be listed.
std::vector<std::filesystem::path> entries_in(const std::filesystem::path& folder,
                                              const std::function<bool(const std::filesystem::path&)>& is_wanted);

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

/// The part that a folder's name stands for, in any case: train or training; val, valid, validation or dev; test or
/// testing.
std::optional<Part> part_named(const std::string& name);

/// The part that a word of the name stands for, as in "training_set" and "val2017"; kUnused for other words of
/// divided data, as in "seg_pred" and "fold1".
std::optional<Part> resembles_part(const std::string& name);

/// Whether a name is just the name of a part with additions that say nothing: "test1", "training images".
bool is_called_as_part(const std::string& name);

/// Whether two names are equal but for capitals.
bool are_alike(const std::string& a, const std::string& b);

/// Suggests options for images whose class is in their names, with patterns relative to `folder`:
/// "--class cat='train/cat.*' --class dog='train/dog.*'" for "cat.0.jpg" and "dog.0.jpg". Empty where the names don't
/// tell two classes or more with several images each.
std::string class_options_of_names(const std::vector<std::filesystem::path>& images,
                                   const std::filesystem::path& folder);

}  // namespace evener::data
