#include "faces/growing_results.h"

#include <fmt/format.h>

#include <utility>

#include "base/clock.h"
#include "base/csv.h"
#include "base/plural.h"
#include "base/statistics.h"
#include "base/utf8.h"
#include "faces/known.h"

namespace evener::faces {
namespace {

double percent(double cpu_s, const FacesChunk& chunk) {
  return chunk.seconds > 0 ? 100 * cpu_s / chunk.seconds : 0;
}

}  // namespace

std::string faces_heading() {
  std::string heading = "file,face,x1,y1,x2,y2,probability";
  for (const char* part : {"left_eye", "right_eye", "nose", "mouth_left", "mouth_right"}) {
    heading += fmt::format(",{0}_x,{0}_y", part);
  }
  return heading + ",group,name";
}

std::string faces_rows(const std::string& file, const std::vector<EmbeddedFace>& faces, const std::vector<int>& groups,
                       const PersonNames& names, const std::vector<std::string>& more) {
  const std::string name = csv_cell(to_utf8_text(file));
  std::string rows;
  for (std::size_t i = 0; i < faces.size(); ++i) {
    const FaceBox& box = faces[i].face.box;
    rows += fmt::format("{},{},{:.2f},{:.2f},{:.2f},{:.2f},{:.6f}", name, i, box.x1, box.y1, box.x2, box.y2,
                        box.probability);
    for (const Point& point : faces[i].face.landmarks) rows += fmt::format(",{:.2f},{:.2f}", point.x, point.y);
    rows += i < groups.size() && groups[i] >= 0 ? fmt::format(",{},{}", groups[i] + 1, csv_cell(names.of(groups[i])))
                                                : ",,";
    rows += (i < more.size() ? more[i] : "") + "\n";
  }
  return rows;
}

std::string chunk_row(const FacesChunk& chunk) {
  return fmt::format("{},{},{},{},{:.3f},{:.3f},{:.1f},{:.1f},{}\n", chunk.worker, chunk.number, chunk.photos,
                     chunk.faces, chunk.begin_s, chunk.seconds, percent(chunk.cpu_s, chunk),
                     percent(chunk.process_cpu_s, chunk), chunk.rss_bytes);
}

void add_chunks(record::Record& record, const std::vector<FacesChunk>& chunks) {
  if (chunks.empty()) return;
  const auto add = [&](const char* name, const char* unit, const char* label, record::Better better,
                       const auto& value_of) {
    record::Metric metric{.name = name, .unit = unit, .title = "", .label = label, .better = better};
    for (const FacesChunk& chunk : chunks) metric.samples.push_back(value_of(chunk));
    metric.value = median(metric.samples);
    metric.over = "chunks of a worker, in the order of chunks.csv";
    record::add_metric(record, std::move(metric));
  };
  using record::Better;
  add("chunk_s_per_photo", "s", "seconds of a worker for a photo", Better::kLower,
      [](const FacesChunk& chunk) { return chunk.seconds / static_cast<double>(chunk.photos); });
  add("chunk_cpu_percent", "%", "CPU of a worker's thread", Better::kHigher,
      [](const FacesChunk& chunk) { return percent(chunk.cpu_s, chunk); });
  add("chunk_rss_bytes", "bytes", "memory at the end of a chunk", Better::kLower,
      [](const FacesChunk& chunk) { return static_cast<double>(chunk.rss_bytes); });
}

std::vector<ChunkOnPage> chunks_on_page(const std::vector<FacesChunk>& chunks) {
  std::vector<ChunkOnPage> on_page;
  for (const FacesChunk& chunk : chunks) {
    on_page.push_back(
        {chunk.worker, chunk.photos, chunk.begin_s, chunk.seconds, percent(chunk.cpu_s, chunk), chunk.rss_bytes});
  }
  return on_page;
}

GrowingResults::GrowingResults(const std::filesystem::path& folder, const data::Pictures& photos, std::size_t to_do,
                               FacesJournal& journal, std::vector<PhotoFaces>& all, measure::Observer& line)
    : photos_(photos),
      to_do_(to_do),
      journal_(journal),
      all_(all),
      line_(line),
      table_(folder / "faces.csv", faces_heading()),
      chunk_rows_(folder / "chunks.csv",
                  "worker,chunk,photos,faces,begin_s,seconds,worker_cpu_percent,process_cpu_percent,rss_bytes"),
      begin_s_(now_s()),
      pace_(begin_s_) {
  for (const PhotoFaces& photo : all_) {
    table_.add(faces_rows(photos_.source(photo.photo), photo.faces));
    for (const EmbeddedFace& face : photo.faces) thumbnails_ += face.thumbnail.empty() ? 0 : 1;
  }
}

void GrowingResults::add(PhotoFaces photo) {
  journal_.add(photo);
  table_.add(faces_rows(photos_.source(photo.photo), photo.faces));
  ++done_;
  faces_ += photo.faces.size();
  for (EmbeddedFace& face : photo.faces) {
    if (thumbnails_ < kMostThumbnails) {
      ++thumbnails_;
    } else {
      face.drop_thumbnail();
    }
  }
  all_.push_back(std::move(photo));
  show();
}

void GrowingResults::add_chunk(const FacesChunk& chunk) {
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
                         measure::time_left_text(left_s)));
}

}  // namespace evener::faces
