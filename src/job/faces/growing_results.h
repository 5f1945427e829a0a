// Stores each photo as soon as its faces are found: in the journal, for a resumed run; in the tables, which are there
// even if the run is killed; and in memory, for the comparison.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "base/csv.h"
#include "data/open/pictures.h"
#include "job/faces/tables.h"
#include "job/observer.h"
#include "job/progress.h"
#include "task/faces/faces.h"
#include "task/faces/journal.h"

namespace evener::job {

class GrowingResults {
 public:
  /// Writes faces.csv and chunks.csv into `folder`, and adds photos to `journal` and to `all`, which already holds the
  /// photos known from before. `to_do`: the number of new photos. Throws Error where a file can't be written, as add()
  /// and add_chunk() do.
  GrowingResults(const std::filesystem::path& folder, const data::Pictures& photos, std::size_t to_do,
                 task::FacesJournal& journal, std::vector<task::PhotoFaces>& all, Observer& line);

  void add(task::PhotoFaces photo);
  void add_chunk(const task::FacesChunk& chunk);

  /// The number of new photos so far.
  std::size_t done() const { return done_; }
  const std::vector<task::FacesChunk>& chunks() const { return chunks_; }

 private:
  void show();

  const data::Pictures& photos_;
  const std::size_t to_do_;
  task::FacesJournal& journal_;
  std::vector<task::PhotoFaces>& all_;
  Observer& line_;
  CsvWriter table_, chunk_rows_;
  std::vector<task::FacesChunk> chunks_;
  std::size_t thumbnails_ = 0;  // thumbnails in memory, of known and new photos
  std::size_t done_ = 0, faces_ = 0;
  const double begin_s_;
  RedrawPace pace_;
};

}  // namespace evener::job
