// Reads parts and classes from the names of folders and files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/sources/source.h"

namespace evener::data {

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
