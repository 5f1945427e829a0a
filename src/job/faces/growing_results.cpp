#include "job/faces/growing_results.h"

#include <fmt/format.h>

#include <utility>

#include "base/clock.h"
#include "base/plural.h"
#include "job/faces/known.h"

namespace evener::job {

GrowingResults::GrowingResults(const std::filesystem::path& folder, const data::Pictures& photos, std::size_t to_do,
                               task::FacesJournal& journal, std::vector<task::PhotoFaces>& all, Observer& line)
    : photos_(photos),
      to_do_(to_do),
      journal_(journal),
      all_(all),
      line_(line),
      table_(folder / "faces.csv", faces_heading()),
      chunk_rows_(folder / "chunks.csv", chunks_heading()),
      begin_s_(now_s()),
      pace_(begin_s_) {
  for (const task::PhotoFaces& photo : all_) {
    table_.add(faces_rows(photos_.source(photo.photo), photo.faces));
    for (const task::EmbeddedFace& face : photo.faces) thumbnails_ += face.thumbnail.empty() ? 0 : 1;
  }
}

void GrowingResults::add(task::PhotoFaces photo) {
  journal_.add(photo);
  table_.add(faces_rows(photos_.source(photo.photo), photo.faces));
  ++done_;
  faces_ += photo.faces.size();
  for (task::EmbeddedFace& face : photo.faces) {
    if (thumbnails_ < kMostThumbnails) {
      ++thumbnails_;
    } else {
      face.drop_thumbnail();
    }
  }
  all_.push_back(std::move(photo));
  show();
}

void GrowingResults::add_chunk(const task::FacesChunk& chunk) {
  chunk_rows_.add(chunk_row(chunk));
  chunks_.push_back(chunk);
}

void GrowingResults::show() {
  constexpr double kNextLine_s = 10;  // where it can't be redrawn
  if (!pace_.is_due(line_, kNextLine_s)) return;
  if (photos_.live() != nullptr) {
    line_.show(
        fmt::format("{}, {}, {} dropped", counted(done_, "frame"), counted(faces_, "face"), photos_.live()->dropped()));
    return;
  }
  const double left_s = (now_s() - begin_s_) / static_cast<double>(done_) * static_cast<double>(to_do_ - done_);
  line_.show(fmt::format("{} of {}, {}, {} left", done_, counted(to_do_, "photo"), counted(faces_, "face"),
                         time_left_text(left_s)));
}

}  // namespace evener::job
