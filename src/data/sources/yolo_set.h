// A set of images as YOLO has them: its YAML file with classes and parts, and where its images and their text files
// lie.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/sources/yolo_text.h"

namespace evener::data {

/// Larger files are refused: a hostile one takes some 250 bytes of memory for each of its bytes.
constexpr std::uint64_t kMaxYoloSetBytes = std::uint64_t{2} << 20;

struct YoloSet {
  std::vector<std::string> names;
  std::string path;                           // folder to which train, val and test are relative; "" = the file's own
                                              // folder
  std::vector<std::string> train, val, test;  // folders of images, or files that list images
  std::optional<KeyPoints> key_points;
  std::vector<std::string> notes;
};

/// Reads any YAML, and so JSON; keys that a set doesn't need are passed over. Throws Error with the reason alone, and
/// the line where there is one: no YAML, no names, numbers of names with gaps, a key with a value of another kind.
YoloSet parse_yolo_set(std::string_view file);

/// Whether a file is such a YAML file: it has the keys names and train. A damaged file counts if it has lines that
/// begin with these, so that the error message can say what is wrong.
bool is_yolo_set(std::string_view file);

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
