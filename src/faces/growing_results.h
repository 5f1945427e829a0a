// Stores each photo as soon as its faces are found: in the journal, for a resumed run; in the tables, which are there
// even if the run is killed; and in memory, for the comparison.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/csv.h"
#include "data/open/pictures.h"
#include "faces/known.h"
#include "faces/page/page.h"
#include "faces/photos/faces.h"
#include "faces/photos/journal.h"
#include "measure/run/observer.h"
#include "measure/run/progress.h"
#include "record/record.h"

namespace evener::faces {

// Rows of the tables that are written while faces are found, so that a killed run has left them.

/// The heading of faces.csv, and the rows for a photo's faces. `groups`: the group of each face from 0, -1 = none;
/// empty = not known yet. `names`: of the groups. `more`: further columns of each face, as ",1,2"; empty = there are
/// none.
std::string faces_heading();
std::string faces_rows(const std::string& file, const std::vector<EmbeddedFace>& faces,
                       const std::vector<int>& groups = {}, const PersonNames& names = {},
                       const std::vector<std::string>& more = {});

std::string chunk_row(const FacesChunk& chunk);

// The cost of photos, chunk by chunk.

/// Adds the medians over all chunks to the record, with each chunk as a sample.
void add_chunks(record::Record& record, const std::vector<FacesChunk>& chunks);
std::vector<ChunkOnPage> chunks_on_page(const std::vector<FacesChunk>& chunks);

class GrowingResults {
 public:
  /// Writes faces.csv and chunks.csv into `folder`, and adds photos to `journal` and to `all`, which already holds the
  /// photos known from before. `to_do`: the number of new photos. Throws Error where a file can't be written, as add()
  /// and add_chunk() do.
  GrowingResults(const std::filesystem::path& folder, const data::Pictures& photos, std::size_t to_do,
                 FacesJournal& journal, std::vector<PhotoFaces>& all, measure::Observer& line);

  void add(PhotoFaces photo);
  void add_chunk(const FacesChunk& chunk);

  /// The number of new photos so far.
  std::size_t done() const { return done_; }
  const std::vector<FacesChunk>& chunks() const { return chunks_; }

 private:
  void show();

  const data::Pictures& photos_;
  const std::size_t to_do_;
  FacesJournal& journal_;
  std::vector<PhotoFaces>& all_;
  measure::Observer& line_;
  CsvWriter table_, chunk_rows_;
  std::vector<FacesChunk> chunks_;
  std::size_t thumbnails_ = 0;  // thumbnails in memory, of known and new photos
  std::size_t done_ = 0, faces_ = 0;
  const double begin_s_;
  measure::RedrawPace pace_;
};

}  // namespace evener::faces
