// Images that a user wants left out, such as those whose labels are wrong: the file that names them, and how they are
// taken out of divided data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/open/open_data.h"

namespace evener::data {

struct DropList {
  std::filesystem::path file;
  std::vector<std::string> names;  // of images, as UTF-8 (base/utf8.h), in alphabetical order, each once
  std::size_t doubtful = 0;        // rows that were passed over: what seems to be the matter with them is unsure
  bool takes_from_test = false;    // the images are taken out of the test part, too

  /// A hash of the names.
  std::uint64_t hash() const;
};

/// Reads a list of images: a text file with a name on each line, or a table (CSV) with the column "file", such as
/// labels.csv of `evener data labels`. Rows of a table whose column "kind" says "both" or "neither" are passed over:
/// their labels may be right. Throws UsageError where the file can't be read, and where it names no image.
DropList read_drop_list(const std::filesystem::path& file);

/// The file in a run's folder that names the images which its training left out.
inline constexpr const char* kDroppedFile = "dropped.txt";
/// Writes the names, one on each line. Throws Error where that is impossible.
void write_dropped(const DropList& list, const std::filesystem::path& run);

struct LeftOut {
  std::vector<std::uint32_t> samples;        // that the list names, ascending
  std::size_t train = 0, val = 0, test = 0;  // how many were taken out of each part
  std::size_t test_kept = 0;                 // how many are in the test part and stay there
  /// "25 images of 'drop.txt' are left out: 24 of the training part, 1 to validate on; 3 in the test part stay"
  std::string text;
  std::vector<std::string> notes;  // on names that no image has
};

/// Takes the images that `list` names out of the training and the validation part, and out of the test part where the
/// list says so; all other images keep their parts. `location`: of the data. A name is an image's path as it is told in
/// tables, its absolute path, or the end of its path, as far as that is one image's alone. Names may begin with folders
/// that are gone: the data may have moved. Throws UsageError where no name is an image's, where a name is several
/// images', and where no image is left to train on.
LeftOut leave_out(const DropList& list, const std::string& location, OpenedData& opened);

}  // namespace evener::data
