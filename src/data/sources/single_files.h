// One file is one sample, in one part, under however many names data lists it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "data/sources/source.h"

namespace evener::data {

/// A file as data lists it.
struct ListedFile {
  std::filesystem::path path;
  Part part = Part::kUndivided;
};

/// What is left of a listing where each file counts once.
struct SingleFiles {
  std::vector<ListedFile> files;   // in the order of their first mention, each in one part
  std::vector<std::size_t> place;  // of each file of the listing: its index in `files`
  std::vector<std::string> notes;  // files that were listed more than once, and copies, with their numbers
};

/// Takes files that are the same (one inode: links, hard links and all spellings of a path) for one. A file of several
/// parts stays in the first of test, validation and training, so that no figure is of images that were learnt. Where
/// that would leave nothing to learn from, training keeps what it shares with validation, which is then taken from it
/// as from data without such a part; where the test has that too, all files become undivided. Files of equal bytes are
/// told, but stay. With `strict` a file that is listed more than once is an Error. `threads` look for copies.
SingleFiles single_files(const std::vector<ListedFile>& listed, int threads, bool strict);

}  // namespace evener::data
