// Makes sure that each file counts as one sample in one part, even where data lists it under several names.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "data/sources/source.h"

namespace evener::data {

/// A file in the listing of a data source.
struct ListedFile {
  std::filesystem::path path;
  Part part = Part::kUndivided;
};

/// A listing in which each file counts once.
struct SingleFiles {
  std::vector<ListedFile> files;   // in the order of their first mention, each in one part
  std::vector<std::size_t> place;  // of each file of the listing: its index in `files`
  std::vector<std::string> notes;  // files that were listed more than once, copies, and one shot in two formats
};

/// Takes files that are the same (one inode: links, hard links and all spellings of a path) for one. A file in several
/// parts stays in the first of test, validation and training, so that nothing is evaluated on images that were trained
/// on. Where that would leave training empty, training keeps the files that it shares with validation, and the
/// validation part is then split off it as for data without one; where the test part has these files, too, all files
/// become undivided. Files with equal bytes are noted, but stay. With `strict` a file that is listed more than once is
/// an Error. `threads`: how many threads look for copies.
SingleFiles single_files(const std::vector<ListedFile>& listed, int threads, bool strict);

}  // namespace evener::data
