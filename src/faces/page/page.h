// The HTML page about the faces in a folder: who is on which photos, and how similar the faces are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace evener::faces {

struct FaceOnPage {
  std::string file;   // of the photo
  std::string image;  // bytes of a JPEG file
  double probability = 0;
  int group = -1;                  // person; -1: similar to no other face
  bool clear = true;               // large and sharp enough to be recognised
  std::string link = {};           // address of the photo, relative to the page
  std::array<double, 4> box = {};  // x1, y1, x2, y2 in pixels of the photo
};

struct PairOnPage {
  std::size_t first = 0, second = 0;  // indices of faces
  double distance = 0;
};

/// The accuracy of telling persons apart by distance, on pairs with known persons.
struct JudgementOnPage {
  std::string words;                             // sentence for the page
  std::vector<std::pair<double, double>> curve;  // ROC curve: accepted shares of different and of same pairs
  double equal_error_rate = 0;
};

/// A number of photos that one worker processed one after the other.
struct ChunkOnPage {
  int worker = 0;
  std::size_t photos = 0;
  double begin_s = 0, seconds = 0;  // start since the run's beginning, and duration
  double cpu_percent = 0;           // CPU usage of the worker's thread
  std::uint64_t rss_bytes = 0;      // resident size of the program at the chunk's end
};

struct FacesPage {
  std::string title;                   // "photos/"
  std::vector<std::string> notes;      // sentences of caution, shown first
  std::vector<std::string> summary;    // sentences
  std::size_t photos = 0;              // photos examined
  std::size_t all_faces = 0;           // faces found; `faces` may have fewer
  std::vector<FaceOnPage> faces;       // faces shown
  std::vector<PairOnPage> pairs;       // similar faces, nearest first; each face is shown in one pair
  std::vector<std::size_t> histogram;  // pairs by distance from 0 to 2, in bins of equal width
  std::optional<JudgementOnPage> judgement;
  std::vector<ChunkOnPage> chunks;        // in any order
  std::map<int, std::string> names = {};  // persons' names by group, also of groups that are not shown
  std::string names_file = {};            // file in which the user writes names
  double limit = 1;                       // largest distance of faces of one person
  bool tells_persons = true;              // false: the network has random weights, so groups mean nothing
};

/// The page, with everything inside except the photos, which it links to.
std::string faces_html(const FacesPage& page);

}  // namespace evener::faces
