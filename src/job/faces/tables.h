// Tables that grow while faces are found, so that a run that was killed has left them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "data/pictures.h"
#include "job/faces/names.h"
#include "task/faces/faces.h"

namespace evener::job {

/// The heading of faces.csv, and the rows of a photo's faces; `groups` of them, from 0, -1 or none: not told; `names`
/// of groups.
std::string faces_heading();
std::string faces_rows(const std::string& file, const std::vector<task::EmbeddedFace>& faces,
                       const std::vector<int>& groups = {}, const PersonNames& names = {});

/// A file to which lines are added one by one, in place of one that was there.
class GrowingTable {
 public:
  /// Throws Error where it can't be written, as add() does.
  GrowingTable(std::filesystem::path path, const std::string& heading);

  /// The lines are with the operating system afterwards.
  void add(const std::string& lines);

 private:
  std::filesystem::path path_;
  std::ofstream file_;
};

std::string chunks_heading();
std::string chunk_row(const task::FacesChunk& chunk);

}  // namespace evener::job
