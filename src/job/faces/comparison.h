// Faces compared with each other and grouped, with the tables about pairs of them: pairs.csv, all_pairs.csv,
// neighbours.csv, distances.npy.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "job/faces/faces_flags.h"
#include "job/observer.h"
#include "record/record.h"
#include "task/faces/compare.h"
#include "task/faces/group.h"

namespace evener::job {

struct ComparisonRequest {
  float limit = 1;                             // of one person, see task::GroupOptions
  std::optional<std::size_t> neighbours = {};  // of each face, in neighbours.csv; absent: 10 where there is no matrix
  int threads = 1;
  std::filesystem::path folder;
  std::set<std::size_t> apart = {};  // faces that are nobody's, as people said
  /// What tables call the file of a face.
  std::function<std::string(std::size_t face)> file_of = {};
};

struct ComparedFaces {
  std::vector<task::NearPair> pairs;   // up to the limit, nearest first; of very many the nearest
  std::size_t pairs_within = 0;        // all that were found
  std::vector<std::size_t> histogram;  // of all distances from 0 to 2
  std::vector<int> groups;             // of each face, see task::group_faces
  std::vector<std::string> summary;    // sentences
};

/// What was asked for, without what depends on the run.
ComparisonRequest comparison_request(const FacesComparisonFlags& flags);

/// Throws Error where a table can't be written, Interrupted when a stop is requested.
ComparedFaces compare(const task::Embeddings& embeddings, const std::vector<task::FaceFacts>& facts,
                      const ComparisonRequest& request, Observer& line);

/// The figures of a comparison: how many faces there are, how many persons were seen more than once; absent = the
/// embedder's weights are random, so that groups of faces are no persons.
void add_comparison(record::Record& record, std::size_t faces, std::optional<std::size_t> persons);

/// Whether a face is large and likely enough to found a group. `founder_size`: pixels of its shorter side.
bool may_found(const task::FaceBox& box, int founder_size);

}  // namespace evener::job
