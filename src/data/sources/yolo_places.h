// Finds the images of YOLO data and their text files.
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

/// The folder of the images in YOLO data without a YAML file: images/ in `folder` where the text files are in labels/,
/// or `folder` itself where they lie beside the images and a file names the classes; absent where there are none.
std::optional<std::filesystem::path> images_with_labels(const std::filesystem::path& folder);

/// The images that a place of a set's YAML names, a folder or a file that lists them; nothing if it is neither. A path
/// of another machine is looked for by its last parts, with a note.
std::optional<std::vector<std::filesystem::path>> images_at(const std::string& place, const std::filesystem::path& root,
                                                            std::vector<std::string>& notes);

/// The non-empty lines of a text file, without blanks around them.
std::vector<std::string> lines_of(const std::filesystem::path& file, std::uint64_t most_bytes);

}  // namespace evener::data
