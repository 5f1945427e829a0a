// Where the images of YOLO's sets and their text files lie.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace evener::data {

/// The file with the boxes of an image: under labels/ where the image is under images/, else, or where none is there,
/// beside it.
std::filesystem::path labels_of(const std::filesystem::path& image);

/// Where the images lie whose text files are under labels/ or beside them: images/ of a folder, or the folder itself
/// where a file in it names classes; nothing where there are none.
std::optional<std::filesystem::path> images_with_labels(const std::filesystem::path& folder);

/// The images that a place of a set's YAML names, a folder or a file that lists them; nothing if it is neither. What
/// another machine's path leads to is looked for by its last parts, which a note tells.
std::optional<std::vector<std::filesystem::path>> images_at(const std::string& place, const std::filesystem::path& root,
                                                            std::vector<std::string>& notes);

/// The lines of a text that aren't empty, without blanks around them.
std::vector<std::string> lines_of(const std::filesystem::path& file, std::uint64_t most_bytes);

}  // namespace evener::data
