// One HTML page about the faces of a folder: who is on which photos, and how alike the faces are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace evener::report {

struct FaceOnPage {
  std::string file;   // of the photo
  std::string image;  // bytes of a JPEG file
  double probability = 0;
  int group = -1;                  // -1: like no other
  bool clear = true;               // large and sharp enough to be told from others
  std::string link = {};           // to the photo, from the page
  std::array<double, 4> box = {};  // x1, y1, x2, y2 in pixels of the photo
};

struct PairOnPage {
  std::size_t first = 0, second = 0;  // indices of faces
  double distance = 0;
};

/// How well distances told who is who on pairs of which that is known.
struct JudgementOnPage {
  std::string words;                             // a sentence
  std::vector<std::pair<double, double>> curve;  // shares of the different and of the same that are accepted
  double equal_error_rate = 0;
};

/// Photos that one worker did one after the other.
struct ChunkOnPage {
  int worker = 0;
  std::size_t photos = 0;
  double begin_s = 0, seconds = 0;  // since the run began, and of the chunk
  double cpu_percent = 0;           // of the worker's thread
  std::uint64_t rss_bytes = 0;      // of the program, at the end
};

struct FacesPage {
  std::string title;                   // "photos/"
  std::vector<std::string> notes;      // sentences that have to be read before the faces are believed
  std::vector<std::string> summary;    // sentences
  std::size_t photos = 0;              // that were looked at
  std::size_t all_faces = 0;           // on them; `faces` may be fewer
  std::vector<FaceOnPage> faces;       // those that are shown
  std::vector<PairOnPage> pairs;       // near ones, nearest first; of each face the first is shown
  std::vector<std::size_t> histogram;  // pairs at each distance from 0 to 2, in bins of one width
  std::optional<JudgementOnPage> judgement;
  std::vector<ChunkOnPage> chunks;        // in any order
  std::map<int, std::string> names = {};  // of groups, also of some that are not on the page
  std::string names_file = {};            // where people write them
  double limit = 1;                       // distance up to which faces are taken for one person
  bool tells_persons = true;              // false: random weights made the groups
};

/// The page, with everything inside but the photos: it shows them where they lie.
std::string faces_html(const FacesPage& page);

}  // namespace evener::report
