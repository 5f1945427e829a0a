// Compares and groups faces, and writes the tables about pairs of them: pairs.csv, all_pairs.csv, neighbours.csv,
// distances.npy.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "faces/options.h"
#include "faces/persons/compare.h"
#include "faces/persons/group.h"
#include "measure/run/observer.h"
#include "record/record.h"

namespace evener::faces {

struct ComparisonRequest {
  float limit = 1;                             // largest distance within a person, see GroupOptions
  std::optional<std::size_t> neighbours = {};  // how many of each face are in neighbours.csv; absent: 10 where
                                               // distances.npy is not written
  int threads = 1;
  std::filesystem::path folder;
  std::set<std::size_t> apart = {};  // faces that the user excluded, see FacesApart
  /// The name of a face's photo in the tables.
  std::function<std::string(std::size_t face)> file_of = {};
};

struct ComparedFaces {
  std::vector<NearPair> pairs;         // within the limit, nearest first; only the nearest where there are very many
  std::vector<std::size_t> histogram;  // of all distances from 0 to 2
  std::vector<int> groups;             // of each face, see group_faces
  std::vector<std::string> summary;    // sentences for the user
};

/// The request by the options, without the members that depend on the run.
ComparisonRequest comparison_request(const FacesComparisonFlags& flags);

/// Compares and groups the faces, and writes the tables into `request.folder`. Throws Error where a table can't be
/// written, Interrupted when a stop is requested.
ComparedFaces compare(const Embeddings& embeddings, const std::vector<FaceFacts>& facts,
                      const ComparisonRequest& request, measure::Observer& line);

/// Adds to the record the numbers of faces and of persons who were seen more than once. `persons`: absent where the
/// embedder's weights are random, so that groups of faces are no persons.
void add_comparison(record::Record& record, std::size_t faces, std::optional<std::size_t> persons);

inline constexpr float kUsuallySure = 0.95F;  // of MTCNN's faces, and of those of other software

/// Which faces may found a group.
struct FounderRule {
  int size = 40;              // least pixels of the shorter side
  float sure = kUsuallySure;  // least probability, see FaceDetector::sure_probability
};
/// Whether a face is large and likely enough to found a group.
bool may_found(const FaceBox& box, const FounderRule& rule);

// Compares faces by the embeddings that an earlier run or other software wrote into a .safetensors file, without their
// photos.

struct StoredFaces {
  Embeddings embeddings;
  std::vector<std::string> files;  // of each face
  std::vector<FaceBox> boxes;      // of each face; empty = the file has none
  float sure = kUsuallySure;       // see FounderRule
};

/// Reads the tensor "embeddings" (faces, D) in float32, or the file's only tensor of that kind, and the names of photos
/// and the boxes where the file has them. Doesn't hold the embeddings in memory twice. Throws Error naming what is
/// wrong with the file.
StoredFaces read_embeddings(const std::filesystem::path& path);
void write_embeddings(const std::filesystem::path& path, const StoredFaces& faces);

/// Whether `photos` names a single file of embeddings instead of photos. Throws UsageError where such a file stands
/// among others.
bool names_embeddings(const std::vector<std::string>& photos);

struct FacesRun;

/// Compares and groups the faces of the file that `flags` name, and writes the files of the run.
FacesRun compare_embeddings(const FacesCommandFlags& flags, measure::Observer& line);

}  // namespace evener::faces
