#include "job/faces/tables.h"

#include <fmt/format.h>

#include "base/csv.h"
#include "base/utf8.h"

namespace evener::job {

std::string faces_heading() {
  std::string heading = "file,face,x1,y1,x2,y2,probability";
  for (const char* part : {"left_eye", "right_eye", "nose", "mouth_left", "mouth_right"}) {
    heading += fmt::format(",{0}_x,{0}_y", part);
  }
  return heading + ",group,name";
}

std::string faces_rows(const std::string& file, const std::vector<task::EmbeddedFace>& faces,
                       const std::vector<int>& groups, const PersonNames& names, const std::vector<std::string>& more) {
  const std::string name = csv_cell(to_utf8_text(file));
  std::string rows;
  for (std::size_t i = 0; i < faces.size(); ++i) {
    const task::FaceBox& box = faces[i].face.box;
    rows += fmt::format("{},{},{:.2f},{:.2f},{:.2f},{:.2f},{:.6f}", name, i, box.x1, box.y1, box.x2, box.y2,
                        box.probability);
    for (const task::Point& point : faces[i].face.landmarks) rows += fmt::format(",{:.2f},{:.2f}", point.x, point.y);
    rows += i < groups.size() && groups[i] >= 0 ? fmt::format(",{},{}", groups[i] + 1, csv_cell(names.of(groups[i])))
                                                : ",,";
    rows += (i < more.size() ? more[i] : "") + "\n";
  }
  return rows;
}

std::string chunks_heading() {
  return "worker,chunk,photos,faces,begin_s,seconds,worker_cpu_percent,process_cpu_percent,rss_bytes";
}

std::string chunk_row(const task::FacesChunk& chunk) {
  const auto percent = [&](double cpu_s) { return chunk.seconds > 0 ? 100 * cpu_s / chunk.seconds : 0; };
  return fmt::format("{},{},{},{},{:.3f},{:.3f},{:.1f},{:.1f},{}\n", chunk.worker, chunk.number, chunk.photos,
                     chunk.faces, chunk.begin_s, chunk.seconds, percent(chunk.cpu_s), percent(chunk.process_cpu_s),
                     chunk.rss_bytes);
}

}  // namespace evener::job
