// What `evener faces` leaves behind: faces.csv, embeddings.safetensors, pairs.csv, distances.npy, a page,
// and who is who for the next run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/faces_comparison.h"
#include "cli/faces_known.h"
#include "cli/progress.h"
#include "report/faces_page.h"
#include "task/faces/compare.h"
#include "task/faces/faces.h"
#include "task/faces/group.h"

namespace evener::cli {

/// A photo that was looked at, now or before.
struct SeenPhoto {
  std::size_t photo = 0;  // its number
  std::uint64_t content = 0;
  std::size_t faces = 0;
};

/// All faces of a run, in the order of the photos.
struct FoundFaces {
  std::vector<SeenPhoto> photos;
  std::vector<task::EmbeddedFace> faces;  // without their embeddings
  std::vector<bool> clear;                // of each: large and likely enough to found a group
  task::Embeddings embeddings;
  std::vector<int> persons;            // of each face, from 0; -1 = like no other
  std::vector<task::NearPair> pairs;   // up to the limit, nearest first; of very many the nearest
  std::vector<std::string> summary;    // what is to be said of the comparison
  std::vector<std::size_t> histogram;  // of all distances from 0 to 2
  float limit = 1;
  std::size_t person_count = 0;
  int first_new_person = 0;  // number that nobody has had
};

/// Brings the faces of all photos together, in the order of the photos. `founder_size`: pixels of the shorter side of a
/// face that may found a group. Throws Error where embeddings differ in length.
FoundFaces gather_faces(std::vector<task::PhotoFaces> photos, int founder_size);

/// Compares the faces, groups them, and writes the tables about pairs of them. Who is `known` keeps the number.
void compare_faces(FoundFaces& found, const data::Pictures& photos, ComparisonRequest request, const KnownFaces& known,
                   ProgressLine& line);

/// What the page tells beside the faces.
struct FacesStory {
  std::string title;
  std::vector<std::string> notes = {}, summary = {};  // sentences
  std::optional<report::JudgementOnPage> judgement = {};
  std::vector<report::ChunkOnPage> chunks = {};
  std::optional<report::ScalingOnPage> scaling = {};
};

/// Writes the other files into `folder`. Throws Error where one can't be written.
void write_faces(const std::filesystem::path& folder, const FoundFaces& found, const data::Pictures& photos,
                 const FacesStory& story);

}  // namespace evener::cli
